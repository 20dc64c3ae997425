"""Permutations that ranks take their parts of, by numbers of the whole process, of which one rank draws more."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from math import prod
from pathlib import Path

from gradscope.functions.source import called_name
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.core.copies import SEVERAL
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.drawn_splits import Drawn, held_as, is_shared
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.deciding import asks_for_rank, origin, rank_that_decides
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.seeds import RESTORES, Seed, named_for_rank, seeds_of_torch
from gradscope.ranks.source.sending import sent_outside
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording, load

_PERMUTES = "aten.randperm.default"  # without a generator
_ON_CPU = frozenset(("rand", "randn", "randint", "randperm"))
_IN_PLACE = frozenset(("random_", "uniform_", "normal_", "bernoulli_"))
_GIVEN = ".generator"  # how an operator ends that is given one
_DATA = "torch/utils/data/"
_ELSEWHERE = ("generator", "device", "cuda")  # in a line that draws from other random numbers
_STATES = frozenset((*RESTORES, "fork_rng", "default_generator", "setstate", "get_rng_state"))
_TORCH = ("torch",)
_INDICES = "int64"


@dataclass(frozen=True, slots=True)
class DrawnMore:
    """The line that draws the permutations, which rank draws more between two, and the line that tells it to."""

    permutes: Site
    rank: int
    draws: Site


@dataclass(frozen=True, slots=True)
class _Draws:
    """What a rank draws in an order, by the lines in which it does."""

    recording: Recording
    stacks: list[Stack]
    permutations: dict[str, list[int]]  # by line: places in `stacks`

    def between(self, line: str, trip: int) -> Counter[str]:
        """How often each line draws between a permutation and the next one."""
        first, last = self.permutations[line][trip : trip + 2]
        return Counter(map(_at, self.stacks[first + 1 : last]))

    def first_of(self, lines: set[str]) -> Stack:
        """The first stack in which one of some lines draws."""
        return next(one for one in self.stacks if _at(one) in lines)


def drawn_more(ranks: Ranks, members: tuple[int, ...]) -> DrawnMore | None:
    """The first such permutation of one of these ranks and of another one."""
    first = members[0]
    for other in members[1:SEVERAL]:
        with ExitStack() as files:
            here, there = (files.enter_context(load(Path(ranks.rank(one).path))) for one in (first, other))
            ours = _draws_of(here)
            if not ours.permutations:
                return None
            theirs = _draws_of(there)
            for line in ours.permutations.keys() & theirs.permutations.keys():
                found = _apart(ours, theirs, line)
                if found is not None and not _may_be_one(here) and _is_parted(ours, line):
                    more, stack = found
                    site = rank_that_decides(more.recording, stack) or _site(stack)
                    permutes = _site(ours.stacks[ours.permutations[line][0]])
                    return DrawnMore(at_line(here, permutes, permutes.line), first if more is ours else other, site)
    return None


def _sends_places(recording: Recording) -> bool:
    """Whether ranks may exchange an order after the first step; a wrapper sends numbers of its own before it."""
    return any(
        step > 0 and each.dtype == _INDICES and prod(each.shape) > 1
        for step, one in sent_outside(recording)
        for each in one.types
    )


def _draws_of(recording: Recording) -> _Draws:
    found = _Draws(recording, [], {})
    given = any(each.arg == "generator" for _, _, one in calls_of(recording, "DataLoader") for each in one.keywords)
    on_cpu = all(one.type.device == "cpu" for one in recording.flow_tensors())
    for block in recording.blocks():
        for one in block.operations:
            if block.thread == 0 and one.stack and one.site is not None and _draws(one, given, on_cpu):
                if one.name == _PERMUTES and one.stack[0].origin is Origin.USER:
                    found.permutations.setdefault(_at(one.stack), []).append(len(found.stacks))
                found.stacks.append(one.stack)
    return found


def _draws(one: Operation, given: bool, on_cpu: bool) -> bool:
    """Whether an operator draws from the random numbers that the whole process has for its CPU."""
    name, source = base_name(one.name), "" if one.site is None else one.site.source or ""
    if name not in _ON_CPU | _IN_PLACE or one.name.endswith(_GIVEN):
        return False
    if _DATA in one.stack[0].file:
        return not given
    is_known = name in _ON_CPU and one.stack[0].origin is Origin.USER
    return (is_known or on_cpu) and not any(each in source for each in _ELSEWHERE)


def _apart(ours: _Draws, theirs: _Draws, line: str) -> tuple[_Draws, Stack] | None:
    """Who draws more between two permutations that both go on to draw, by lines of its own, and in which stack first;
    None where any other line draws unequally often."""
    all_of_ours, all_of_theirs = ({_at(one) for one in each.stacks} for each in (ours, theirs))
    both = min(len(each.permutations[line]) for each in (ours, theirs))
    for trip in range(both - 1):
        here, there = ours.between(line, trip), theirs.between(line, trip)
        more, fewer = here.keys() - all_of_theirs, there.keys() - all_of_ours
        if any(here[each] != there[each] for each in (here.keys() | there.keys()) - more - fewer) or (more and fewer):
            return None
        if more or fewer:
            who = ours if more else theirs
            return who, who.first_of(set(more or fewer))
    return None


def _is_parted(ours: _Draws, line: str) -> bool:
    """Whether ranks take their parts of a permutation by their numbers, and it is none of what is a rank's own."""
    recording, stack = ours.recording, ours.stacks[ours.permutations[line][0]]
    frames = frames_of(recording, stack)
    function = frames[0].function
    nodes = (node for node in ast.walk(function) if isinstance(node, ast.Call) and called_name(node) == "randperm")
    calls = [one for one in nodes if one.lineno <= frames[0].site.line <= (one.end_lineno or 0)]
    if len(calls) != 1 or not isinstance(function, Function) or not calls[0].args:
        return False
    if origin(recording, frames, calls[0].args[0], asks_for_rank) is not None:
        return False
    name = held_as(function, calls[0]) or ""
    return is_shared(recording, Drawn(frames[0].site, calls[0], name, (), _TORCH))


def _may_be_one(recording: Recording) -> bool:
    """Whether ranks may have one order all the same."""
    return _is_seeded_anew(recording) or _sends_places(recording)


def _is_seeded_anew(recording: Recording) -> bool:
    """Whether random numbers may be seeded again after the start, by the rank, or put back."""
    trees = (tree_of(recording, Site(file, 1)) for file in recording.sources())
    said = {getattr(node, field, None) for tree in trees for node in nodes_of(tree) for field in ("id", "attr")}
    seeds = list(seeds_of_torch(recording))
    return bool(said & _STATES) or not seeds or not all(_is_once(recording, one) for one in seeds)


def _is_once(recording: Recording, seed: Seed) -> bool:
    """Whether a file itself leads to a seed, in no loop, which is not of the rank."""
    begins = seed.frames[-1].function
    in_a_loop = any(frame.site.line in _looped(frame.function) for frame in seed.frames)
    return isinstance(begins, ast.Module) and not in_a_loop and named_for_rank(recording, seed) is None


def _looped(function: ast.AST) -> Iterator[int]:
    """The lines of a function, or of a file outside of functions, that are in a loop."""
    waiting = list(ast.iter_child_nodes(function))
    for node in waiting:  # grows while it is walked
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)
        elif not isinstance(node, (Function, ast.ClassDef)):
            waiting += ast.iter_child_nodes(node)


def _site(stack: Stack) -> Site:
    return next(one for one in stack if one.origin is Origin.USER)


def _at(stack: Stack) -> str:
    """The user's line under which something is drawn, and the innermost one, as torch draws on several."""
    return f"{_site(stack)} {stack[0]}"
