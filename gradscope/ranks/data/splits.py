"""GS786: ranks that split one dataset by random numbers of their own, before a sampler parts it between them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import TypeGuard

from gradscope.functions.source import called_name
from gradscope.model.finding import Related
from gradscope.model.site import Site, user_site
from gradscope.ranks.core.copies import summed_in_each_step
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.drawn_more import drawn_more
from gradscope.ranks.data.drawn_splits import drawn_splits
from gradscope.ranks.data.own_orders import own_order
from gradscope.ranks.data.sampler_seeds import SAMPLES_IN, permutations, seeded_sampler
from gradscope.ranks.data.shared_parts import DRAWN, parts_what_is_shared
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import SEEDS, Frame, frames_of
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, statements, tree_of
from gradscope.store.reader import Recording, load

_SPLIT = "random_split"
_GENERATOR = "generator"
_PLACES = 2  # arguments before the generator
_STATES = frozenset(("set_rng_state", "fork_rng", "default_generator", "initial_seed", "set_state", "setstate"))
_GLOBAL = frozenset(("torch", "torch.random", "torch.cuda"))
_FOR_ALL = frozenset(("L", "pl"))  # what seeds the numbers of torch, numpy and Python at once
_SEEDS_OTHERS = "seed"
_SEVERAL = (
    "so that ranks take their parts of several orders: some samples come twice in an epoch, and others not at all"
)


def split_apart(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas that split one dataset by random_split(), or by a permutation of their own, after each was seeded by
        its rank, and share what comes of it by a DistributedSampler or by the number of the rank; or that draw a
        permutation anew in each epoch from random numbers of which one rank alone draws more, to try the model say.
    Why:
        The sampler gives each rank its part of the places, and takes it that all have the same samples there. Where
        each rank has split them otherwise, some are trained on twice and others never, and what one rank validates
        with is what another trains on: the score is that of samples which the model knows.
    Wrong:
        torch.manual_seed(seed + rank)
        training, validation = random_split(data, [900, 100])
    Right:
        generator = torch.Generator().manual_seed(seed)
        training, validation = random_split(data, [900, 100], generator=generator)
    Do instead:
        Give random_split() and randperm() a generator, and a sampler a seed, that is the same on all ranks.
    How it is found:
        random_split() drew without a generator, or a line of the program's from which what a DistributedSampler is
        given comes in the source, such a sampler shuffled, and the one line of the program that seeds torch's random
        numbers comes before, under no condition, with a seed that goes back to the rank. So is, by the source alone,
        what splits by numbers that numpy, Python or torch draws for a whole process, where a rank takes its part of
        that by its number or such a sampler: a permutation that is cut in two, a mask and the rest. Or a sampler of
        several replicas shuffled, and the seed that the source gives it goes back to the rank; or an order is drawn by
        a generator whose seed does, and a rank takes the part of it that begins by its number. Or the
        program's own line drew permutations by torch's numbers for the CPU, of which ranks take parts by their numbers,
        and between two of these one rank drew by lines at which the other never does, and all others as often as it.
        Silent where the dataset itself goes back to the rank, and where the state of the random numbers is set or kept.
    """
    members = summed_in_each_step(ranks)
    if members:
        yield from islice(_blames(ranks, members), 1)


def _blames(ranks: Ranks, members: tuple[int, ...]) -> Iterator[Blame]:
    """What gives ranks other orders or splits, the most certain first."""
    with load(Path(ranks.rank(members[0]).path)) as recording:
        for split, seed in chain(_drawn_by_torch(recording), _drawn_by_others(recording)):
            yield Blame(
                f"each rank splits the data by random numbers of its own, which line {seed.line} seeds by the rank, so "
                "that they do not share one part of them",
                split,
                (Related("cause_at", seed, "where each rank is seeded by its number"),),
                certain=False,
            )
        sampler, order = seeded_sampler(recording), own_order(recording)
    if sampler is not None:
        yield Blame(f"each rank's sampler shuffles by a seed of its own, {_SEVERAL}", sampler, certain=False)
    if order is not None:
        yield Blame(
            f"each rank draws an order by a generator that it seeds by its number, {_SEVERAL}",
            order.draws,
            (Related("cause_at", order.seeded, "where each rank seeds it by its number"),),
            certain=False,
        )
    more = drawn_more(ranks, members)
    if more is not None:
        yield Blame(
            "ranks take their parts of a permutation that is drawn anew from random numbers of the whole process, of "
            f"which rank {more.rank} alone draws more in between: these are parts of several orders, some samples come "
            "twice in an epoch, and others not at all",
            more.permutes,
            (Related("cause_at", more.draws, f"by which rank {more.rank} alone draws more"),),
            certain=False,
        )


def _drawn_by_torch(recording: Recording) -> Iterator[tuple[Site, Site]]:
    """Where torch drew a split, and where its numbers are seeded by the rank."""
    stacks = list(permutations(recording))
    split = next((one for one in stacks if one[0].function == _SPLIT), None)
    if not any(one[0].file.endswith(SAMPLES_IN) for one in stacks):
        return
    split = split or next((one for one in stacks if parts_what_is_shared(recording, one)), None)
    frames = [] if split is None else frames_of(recording, split)
    call = _call_of(frames[0]) if frames else None
    if call is None or len(call.args) > _PLACES or any(one.arg in (_GENERATOR, None) for one in call.keywords):
        return
    seed = _seed(recording, frames, call, _GLOBAL)
    site = None if split is None else user_site(split)
    if seed is not None and site is not None:
        yield at_line(recording, site, site.line), seed


def _drawn_by_others(recording: Recording) -> Iterator[tuple[Site, Site]]:
    """Where the source draws a split by numbers of numpy's or Python's own, and where these are seeded by the rank."""
    for drawn in drawn_splits(recording):
        seeds = [_seed(recording, list(way), drawn.call, frozenset(drawn.of)) for way in drawn.ways]
        if len(set(seeds)) == 1 and seeds[0] is not None:
            yield drawn.site, seeds[0]


def _seed(recording: Recording, frames: list[Frame], call: ast.Call, of: frozenset[str]) -> Site | None:
    """The line that seeds the random numbers of a split by the rank, where it is sure that it does; `of`: the modules
    whose numbers they are."""
    if not call.args or origin(recording, frames, call.args[0], asks_for_rank) is not None:
        return None
    trees = [tree_of(recording, Site(file, 1)) for file in recording.sources()]
    nodes = [node for tree in trees for node in nodes_of(tree)]
    said = {getattr(node, field, None) for node in nodes for field in ("id", "attr")}
    own = {node.name for node in nodes if isinstance(node, Function)}
    if sum(_seeds(node, of) and called_name(node) not in own for node in nodes) != 1 or said & _STATES:
        return None
    return next((site for at in range(len(frames)) for site in _seeded(recording, frames[at:], of)), None)


def _call_of(frame: Frame) -> ast.Call | None:
    """The one split on a line, or permutation."""
    nodes = (node for node in ast.walk(frame.function) if isinstance(node, ast.Call))
    calls = [node for node in nodes if called_name(node) in (_SPLIT, DRAWN)]
    here = [one for one in calls if one.lineno <= frame.site.line <= (one.end_lineno or 0)]
    return here[0] if len(here) == 1 else None


def _seeds(node: ast.AST, of: frozenset[str]) -> TypeGuard[ast.Call]:
    """Whether a call seeds the random numbers of some modules that all share, and not a generator's."""
    if not isinstance(node, ast.Call) or called_name(node) not in (*SEEDS, _SEEDS_OTHERS):
        return False
    if isinstance(node.func, ast.Name):
        return called_name(node) in SEEDS
    return ast.unparse(getattr(node.func, "value", node.func)) in (of | _FOR_ALL)


def _seeded(recording: Recording, frames: list[Frame], of: frozenset[str]) -> Iterator[Site]:
    """The line above that of a frame which seeds by the rank, by itself or in what it calls; under no condition."""
    for statement in frames[0].function.body if isinstance(frames[0].function, Function | ast.Module) else ():
        if statement.lineno >= frames[0].site.line or not isinstance(statement, ast.Expr):
            continue
        call, around = statement.value, [replace(frames[0], site=replace(frames[0].site, line=statement.lineno))]
        if not isinstance(call, ast.Call):
            continue
        inner = _called(recording, call, of)
        if inner is not None:
            around, call = [inner[0], *around], inner[1]
        elif not _seeds(call, of):
            continue
        if call.args and _goes_back(recording, [*around, *frames[1:]], call.args[0]):
            yield at_line(recording, around[0].site, call.lineno)


def _called(recording: Recording, call: ast.Call, of: frozenset[str]) -> tuple[Frame, ast.Call] | None:
    """The seeding statement of the one function of the program's that a call is of."""
    found = [
        (Frame(Site(file, node.lineno, node.name), tree_of(recording, Site(file, 1)), node), statement.value)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1))
        if isinstance(node, Function) and node.name == called_name(call)
        for statement in node.body
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and _seeds(statement.value, of)
    ]
    if len(found) != 1:
        return None
    frame, seeds = found[0]
    return replace(frame, site=replace(frame.site, line=seeds.lineno)), seeds


def _goes_back(recording: Recording, frames: list[Frame], seed: ast.expr) -> bool:
    """Whether a seed goes back to the rank, which may be added to it in place."""
    added = [
        node.value
        for node in getattr(frames[0].function, "body", [])
        if isinstance(node, ast.AugAssign) and node.lineno < seed.lineno
        if isinstance(seed, ast.Name) and ast.unparse(node.target) == seed.id
    ]
    return any(origin(recording, frames, one, asks_for_rank) is not None for one in (seed, *added))
