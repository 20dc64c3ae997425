"""Gradients that are summed over the ranks between the backward calls of a step, or in each of them by a hook: a later
one adds to what was summed, and the next sum counts that once for each rank."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import sum_on
from gradscope.ranks.gradients.leaf_sums import LeafSum, leaf_sums, quiet_runs
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_SUMS = "allreduce_"
_JOINS = frozenset(("cat", "stack", "clone", "contiguous", "_to_copy", "copy_", "_foreach_copy_", "view", "reshape"))
_COPIES = frozenset(("copy_", "_foreach_copy_"))


@dataclass(frozen=True, slots=True)
class Between:
    """The line that sums again, as the function sees it that calls backward(), and the line of the sum itself."""

    site: Site
    summed: Site


@dataclass(slots=True)
class _Walk:
    """By memory, since weights were last written: `joined`, of which gradients it is a copy; `sums`, of which ones it
    is the sum over the ranks; `summed`, gradients that hold such a sum; `added`, those that a backward added to since.
    `gradients` is what backward calls have made, `weights` that of leaves; `held`: the tensor made last in a node."""

    tensors: Mapping[int, FlowTensor]
    weights: set[int]
    gradients: set[int] = field(default_factory=set)
    joined: dict[int, frozenset[int]] = field(default_factory=dict)
    sums: dict[int, frozenset[int]] = field(default_factory=dict)
    summed: set[int] = field(default_factory=set)
    added: set[int] = field(default_factory=set)
    held: dict[tuple[int, int | None], int] = field(default_factory=dict)

    def memory(self, at: int) -> int:
        """The storage of a tensor; none has a negative number."""
        return self.tensors[at].storage if at in self.tensors else -1

    def of(self, memory: int) -> frozenset[int]:
        """Which gradients it has, or copies."""
        return frozenset([memory]) if memory in self.gradients else self.joined.get(memory, frozenset())

    def begin(self) -> None:
        """Forget what was summed: weights have been written, or something was not seen."""
        for known in (self.joined, self.sums, self.summed, self.added):
            known.clear()

    def change(self, memory: int) -> None:
        """Forget what was summed of memory that a program writes otherwise: cleared, scaled, or filled anew."""
        self.sums.pop(memory, None)
        self.joined.pop(memory, None)
        self.summed.discard(memory)
        self.added.discard(memory)


def summed_between(ranks: Ranks) -> Between | None:
    """The first such line of the first rank."""
    sums = [one for one in ranks.collectives if one.name == _SUMS.strip("_")]
    wrapped = any(one.is_wrapped for one in ranks.averaging.values())  # whose hooks sum what they have divided
    if not any(one.group is not None and len(one.group.members) > 1 and not (wrapped and one.inside) for one in sums):
        return None
    with load(Path(ranks.ranks[0].path)) as recording:
        with damage_is_one_sentence(recording.path):
            rows, interned = recording.tables.rows, recording.tables.interned
            groups = read_process_groups(rows, interned)
            several = {run for run, number in read_groups_of_runs(rows).items() if len(groups[number].members) > 1}
        inside = not wrapped and any(one.inside for one in sums)
        return _found(recording, several, leaf_sums(recording, several, sums) if inside else [])


def _found(recording: Recording, several: set[int], in_hooks: list[LeafSum]) -> Between | None:
    tensors = {one.number: one for one in recording.flow_tensors()}
    walk = _Walk(tensors, {one.storage for one in tensors.values() if one.parameter or one.leaf is not None})
    calls = {call.number: call.stack for call in recording.backwards()}
    run, last, quiet = 0, 0, quiet_runs(recording) if in_hooks else set[int]()
    for one in _in_order(recording, in_hooks):
        if not quiet.issuperset(range(run + 1, one.run)):
            walk.begin()
        run, last = one.run, last if one.backward is None else one.backward
        if isinstance(one, LeafSum):
            if _sum_in_hook(walk, one):
                return Between(_seen_from(one.stack, calls.get(last, ())) or one.site, one.site)
        elif one.backward is not None:
            _add(walk, one)
        elif not is_collective(one.operation.name):
            _pass_on(walk, one)
        elif one.run in several and _sum(walk, recording, one) and one.site is not None:
            return Between(_seen_from(one.operation.stack, calls.get(last, ())) or one.site, one.site)
    return None


def _in_order(recording: Recording, in_hooks: list[LeafSum]) -> Iterator[FlowOperation | LeafSum]:
    """What ran on the way of tensors, and the sums inside of backward calls, that are not on it."""
    both: list[Iterator[FlowOperation | LeafSum]] = [iter(recording.flow()), iter(in_hooks)]
    return heapq.merge(*both, key=_place)


def _place(one: FlowOperation | LeafSum) -> tuple[int, int]:
    return one.run, one.position


def _add(walk: _Walk, one: FlowOperation) -> None:
    """Note what a backward call makes, or adds to, and what hooks write otherwise."""
    name, writes = base_name(one.operation.name), base_name(one.operation.name).endswith("_")
    made = set(map(walk.memory, one.makes))
    written = {walk.memory(each.tensor) for each in one.reads} & made if writes else set[int]()
    if not walk.weights.isdisjoint(written):
        walk.begin()
    if name == "add_":
        walk.added |= written & (walk.summed | walk.sums.keys())
    else:
        for memory in written:
            walk.change(memory)
    walk.gradients |= made
    if one.makes:
        walk.held[one.backward or 0, one.operation.node] = one.makes[-1]


def _sum_in_hook(walk: _Walk, one: LeafSum) -> bool:
    """Note a sum of the gradient that a leaf was given just before; whether that was summed and added to."""
    held = walk.held.get((one.backward, one.node), -1)
    memory = walk.memory(held)
    if held not in walk.tensors or walk.tensors[held].type.shape not in one.shapes:
        return False  # what is summed is something else
    if memory in walk.added:
        return True
    if memory in walk.gradients:
        walk.sums[memory] = frozenset([memory])
        walk.summed.add(memory)
    return False


def _sum(walk: _Walk, recording: Recording, one: FlowOperation) -> bool:
    """Note a sum; whether something is in it that was summed before a backward added to it."""
    is_sum = base_name(one.operation.name) == _SUMS and one.site is not None and _is_sum(recording, one.site)
    for memory in {walk.memory(each.tensor) for each in one.reads}:
        of = walk.of(memory)
        if not is_sum or not of:
            walk.change(memory)
        elif not walk.added.isdisjoint(of):
            return True
        else:
            walk.sums[memory] = of
            walk.summed |= {memory} & walk.gradients
    return False


def _is_sum(recording: Recording, site: Site) -> bool:
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None


def _pass_on(walk: _Walk, one: FlowOperation) -> None:
    """Note copies of gradients, sums that are put back, and what is written otherwise."""
    name, reads = base_name(one.operation.name), [each.tensor for each in one.reads]
    writes = name.endswith("_")
    written = (list(one.makes) or reads) if writes else []  # an operator on lists makes nothing
    if not walk.weights.isdisjoint(map(walk.memory, written)):
        walk.begin()
    elif name in _COPIES:
        half = len(reads) // 2
        for into, source in zip(reads[:half], reads[half:], strict=False):
            _put(walk, walk.memory(into), walk.memory(source))
    elif writes:
        for at in written:
            walk.change(walk.memory(at))
    elif name in _JOINS:
        _join(walk, reads, one.makes)


def _put(walk: _Walk, into: int, source: int) -> None:
    """Note what one memory holds when another was copied into it: a sum is put back into the gradients it is of."""
    is_back = into in walk.gradients and into in walk.sums.get(source, ())
    of = walk.of(source)
    walk.change(into)
    if is_back:
        walk.summed.add(into)
    elif of and into not in walk.gradients:
        walk.joined[into] = of


def _join(walk: _Walk, reads: list[int], makes: tuple[int, ...]) -> None:
    """Note of which gradients a new tensor is a copy; one of a sum may become a gradient itself."""
    for source in map(walk.memory, reads):
        if source in walk.sums:
            walk.sums.update(dict.fromkeys(map(walk.memory, makes), walk.sums[source]))
    of = [walk.of(walk.memory(at)) for at in reads]
    for made in map(walk.memory, makes):
        if made not in map(walk.memory, reads) and all(of):
            walk.joined[made] = frozenset[int]().union(*of)


def _seen_from(sums: Stack, calls: Stack) -> Site | None:
    """The line of the innermost function that leads to both a sum and a backward call."""
    around = {(site.file, site.function) for site in user_frames(calls)}
    return next((site for site in user_frames(sums) if (site.file, site.function) in around), None)
