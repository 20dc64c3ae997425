"""A tensor that is summed over the ranks, and once more by another name before anybody reads it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from gradscope.model.flow import FlowOperation
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.gradients.listed import listed_at
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_gradients_of_runs, read_groups_of_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_SUMS = "c10d.allreduce_."
_TWO = 2
_SCALES = ("aten.div_.", "aten.mul_.", "aten._foreach_div_.", "aten._foreach_mul_.")


@dataclass(slots=True)
class _Memory:
    """What is known of memory that an operator made, or of a leaf's gradient, where it was summed first: the line, how
    many numbers, where it was summed since it was read or written last, in which group, and how often scaled since;
    `stack`: of the sum after the first."""

    made: Site | None
    size: int
    sums: list[Site]
    group: int | None = None
    leaf: str | None = None
    scaled: int = 0
    stack: Stack = ()


@dataclass(frozen=True, slots=True)
class Twice:
    """The line that makes a tensor, and that of its second sum; of a leaf's gradient that of the first one."""

    made: Site
    summed: Site
    leaf: str | None = None
    stack: Stack = field(default=(), compare=False)


def summed_twice(ranks: Ranks) -> Twice | None:
    """The first such tensor that two ranks have alike."""
    if len(ranks.ranks) < 2 or not any(one.operator.startswith(_SUMS) for one in ranks.collectives):
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        found = next(_found(here), None)
        if found is None or found not in _found(there):
            return None
        listed = None if found.leaf is None else listed_at(here, found.stack)
        return found if listed is None else replace(found, summed=listed)


def _found(recording: Recording) -> Iterator[Twice]:
    with damage_is_one_sentence(recording.path):
        groups = read_groups_of_runs(recording.tables.rows)
        leaves = read_gradients_of_runs(recording.tables.rows, recording.tables.interned)
    places = {one.number: (one.storage, math.prod(one.type.shape)) for one in recording.flow_tensors()}
    known: dict[int, _Memory] = {}
    for one in recording.flow():
        if one.backward is not None:
            for memory in known.values():
                memory.sums, memory.scaled = [], 0  # what runs in other threads is not followed
            continue
        given = [places[each.tensor] for each in one.reads if each.tensor in places]
        read = set(given)
        if one.operation.name.startswith(_SUMS):
            if one.run in leaves:
                found = {at: _Memory(one.site, size, [], leaf=leaves[one.run]) for at, size in read}
                known = found | known
            _sum(recording, known, one, read, groups.get(one.run))
            continue
        made = {places[each] for each in one.makes if each in places}
        yield from _touch(known, one, given, made)


def _sum(
    recording: Recording, known: dict[int, _Memory], one: FlowOperation, read: set[tuple[int, int]], group: int | None
) -> None:
    """Note a sum of what is known, whole: a part of it is nobody's second one."""
    for storage, size in read:
        memory = known.get(storage)
        if memory is None:
            continue
        if size != memory.size or one.site is None or group is None or not _is_sum(recording, one.site):
            del known[storage]
        elif not memory.sums:
            memory.sums, memory.group = [one.site], group
        elif memory.group != group:
            del known[storage]  # first in a part of the ranks, then over the parts
        elif memory.scaled >= len(memory.sums):
            memory.sums, memory.scaled = [one.site], 0
        else:
            memory.sums.append(one.site)
            memory.stack = memory.stack if len(memory.sums) > _TWO else one.operation.stack


def _touch(
    known: dict[int, _Memory], one: FlowOperation, given: list[tuple[int, int]], made: set[tuple[int, int]]
) -> Iterator[Twice]:
    """What another operator does to what is known: one that makes a view leaves it as it is."""
    viewed, times = {storage for storage, _ in made}, Counter(storage for storage, _ in given)
    for storage in times:
        memory = known.get(storage)
        if memory is None or (storage in viewed and not one.operation.writes):
            continue
        if len(memory.sums) > 1 and one.operation.name.startswith(_SCALES):
            memory.scaled += times[storage]
            continue  # the mean may be taken by each name as well
        if len(memory.sums) > 1 and memory.made is not None and memory.scaled < len(memory.sums):
            yield Twice(memory.made, memory.sums[1], memory.leaf, memory.stack)
        memory.sums, memory.scaled = [], 0
    if given and not is_collective(one.operation.name):
        known.update({storage: _Memory(one.site, size, []) for storage, size in made if storage not in times})


def _is_sum(recording: Recording, site: Site) -> bool:
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None
