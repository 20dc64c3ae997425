"""Replicas that see data of their own at first and the same from some step on, as after a random state is restored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Site, Stack
from gradscope.model.training import FORWARD, SCALED_STEP, STEP
from gradscope.ranks.core.copies import Replicas, replicas_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.made_without_rank import made_without_rank
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.deciding import DRAWS
from gradscope.ranks.source.given import loaded_at
from gradscope.ranks.source.seeds import (
    drawing_calls,
    is_over_before,
    last_before,
    named_for_rank,
    only_restoring,
    seeds_of_torch,
)
from gradscope.ranks.source.ways import is_collective, meets_before_the_loss, ways_of
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_APART = 3  # losses, at least, that are not equal at first
_EQUAL = 8  # losses, at least, that are equal since then, and change from step to step
_TRAINS = 2  # steps, and averages of gradients, at least, among these
_DRAWN = DRAWS | {"rand_like", "randn_like", "randint_like", "exponential_", "poisson"}  # operators
_LOADERS = ("DataLoader", "RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler")
_BY = "generator"  # the argument that says by what something is drawn
_NUMBERS_WORKERS = "torch/utils/data/dataloader.py"  # draws a number for workers in each epoch, whatever it loads


@dataclass(frozen=True, slots=True)
class SameLater:
    """Ranks that compute the same losses from a backward on, in how many, and the line that this goes back to; `meant`:
    torch draws nothing there, so that they may be given the same on purpose."""

    members: tuple[int, ...]
    backward: int
    count: int
    site: Site
    meant: bool


def same_later(ranks: Ranks) -> Iterator[SameLater]:
    """The first such set of replicas."""
    losses = {number: dict(content) for content, numbers in ranks.losses.items() for number in numbers}
    for replicas in replicas_of(ranks):
        found = _equal_since(losses, replicas)
        if found is not None:
            backward, count = found
            told = _line(ranks, replicas, backward)
            if told is not None:
                yield SameLater(replicas.members, backward, count, *told)
                return


def _equal_since(losses: dict[int, dict[int, str]], replicas: Replicas) -> tuple[int, int] | None:
    """The backward from which all losses of replicas are equal, and how many are, where none was before it."""
    all_of_them = [losses.get(number, {}) for number in replicas.members]
    numbers = sorted(all_of_them[0])
    if any(sorted(one) != numbers for one in all_of_them):
        return None
    alike = [len({one[number] for one in all_of_them}) == 1 for number in numbers]
    apart = alike.index(True) if True in alike else len(alike)
    values = {all_of_them[0][number] for number in numbers[apart:]}
    if apart < _APART or not all(alike[apart:]) or len(values) < _EQUAL or values & {"nan", "inf", "-inf"}:
        return None
    return numbers[apart], len(numbers) - apart


def _line(ranks: Ranks, replicas: Replicas, backward: int) -> tuple[Site, bool] | None:
    """The line by which all ranks come to the same data, and whether it may be meant; None where they do not train by
    these, or meet before they have their losses."""
    path = Path(ranks.rank(replicas.members[-1]).path)  # the first one may have saved what the others restore
    with load(path) as recording, damage_is_one_sentence(path):
        if not _trains_since(recording, backward) or meets_before_the_loss(recording, backward):
            return None
        drawn = _drawn(recording, backward)
        only = only_restoring(recording)
        if only is not None:
            return only.site(recording), drawn is None
        if drawn is None:
            return None
        made = made_without_rank(recording, drawn.stack) or _loaded(recording, backward)
        site = _seeded(recording, drawn.stack, backward) or made or drawn.site
        return None if site is None else (site, False)


def _drawn(recording: Recording, backward: int) -> Operation | None:
    """What draws data on the way to a backward first: the number that a loader has for its workers only where nothing
    else does."""
    drawn = [one for one in ways_of(recording).get(backward, ()) if _draws(one)]
    of_data = (one for one in drawn if not one.stack[0].file.endswith(_NUMBERS_WORKERS))
    return next(of_data, drawn[0] if drawn else None)


def _loaded(recording: Recording, backward: int) -> Site | None:
    """The line that makes the loader or the stream of which a model is given something before a backward."""
    calls = (call for one in recording.intervals() if one.backward == backward for call in one.calls)
    stack = next((call.stack for call in calls if call.kind is FORWARD and call.total), ())
    return loaded_at(recording, stack)


def _seeded(recording: Recording, stack: Stack, backward: int) -> Site | None:
    """The line that seeds torch's random numbers or restores them before they draw under a stack; None where that goes
    by the rank, where it was there when each rank had data of its own, or where they may not be what draws."""
    last = last_before(list(seeds_of_torch(recording, restoring=True)), stack)
    if last is None or not _by_torch(recording, stack):
        return None
    apart = max((one for one in recording.backwards() if one.number < backward), key=lambda one: one.number)
    if is_over_before(recording, last, apart.stack):
        return None
    is_own = not last.restores and named_for_rank(recording, last) is not None
    return None if is_own else last.site(recording)


def _by_torch(recording: Recording, stack: Stack) -> bool:
    """Whether what draws is given no generator: a call on the line, else any loader or sampler."""
    if drawing_calls(recording, stack):
        return not drawing_calls(recording, stack, given=True)
    loaders = (call for _, _, call in calls_of(recording, *_LOADERS))
    return not any(each.arg == _BY for one in loaders for each in one.keywords)


def _draws(one: Operation) -> bool:
    """Whether an operator draws data: what modules draw for themselves are masks and noise."""
    return base_name(one.name) in _DRAWN and one.module is None


def _trains_since(recording: Recording, backward: int) -> bool:
    """Whether optimizers step by the gradients from a backward on, which ranks average."""
    later = (one for one in recording.intervals() if one.backward is None or one.backward > backward)
    steps = sum(any(call.kind in (STEP, SCALED_STEP) for call in one.calls) for one in later)
    begun = {one.number: one.started for one in recording.backwards()}[backward]
    blocks = (one for one in recording.blocks() if one.started >= begun)
    meets = sum(any(is_collective(each.name) for each in one.operations) for one in blocks)
    return steps >= _TRAINS and meets >= _TRAINS
