"""Means of a rank's own samples that ranks put together without any weights, and that are then taken off of these.

A product with a plain number leaves no trace of the number: before ranks meet it may be a weight, after a sum it is
the same for all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from math import prod

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.source.ways import forwards_of, is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_MEANS = frozenset(("mean", "var_mean", "std_mean"))
_SUMS = frozenset(("allreduce_", "all_reduce", "all_reduce_"))
_GATHERS = frozenset(("allgather_", "_allgather_base_", "all_gather_into_tensor"))
_WAITS = "wait_tensor"
_OTHERWISE = re.compile(r"\b(?:MAX|MIN|PRODUCT|PREMUL_SUM)\b")  # as a reduction is called
_COPIES = frozenset(("clone", "_to_copy", "contiguous", "_unsafe_view", "detach", "alias"))
_JOINS = frozenset(("stack", "cat", _WAITS, *_COPIES))
_ADDS_UP = frozenset(("mean", "sum"))
_ADDS = frozenset(("add", "add_"))
_SCALES = frozenset(("mul", "div", "mul_", "div_"))
_TAKES_OFF = frozenset(("sub", "sub_"))
_NORMALISES = "batch_norm"  # in the names of operators that are given a mean and a variance

_Content = tuple[int, int]  # a storage, and how often it had been written


@dataclass(frozen=True, slots=True)
class AlikeMean:
    """A line that takes the mean of a rank's own samples, of how many numbers each is, the line that takes what ranks
    made of it off of the same samples, in which step, and which ranks had met."""

    site: Site
    count: int
    takes_off: Site
    step: int
    members: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Mean:
    of: _Content
    count: int
    site: Site


@dataclass(frozen=True, slots=True)
class _Means:
    """What a tensor holds: means alone, and what ranks have made of them; `members` are none before they met.
    `joined`: how many numbers those of all ranks are, one beside the other."""

    means: frozenset[_Mean]
    members: tuple[int, ...] = ()
    averaged: bool = False
    joined: int = 0


@dataclass(slots=True)
class _Walk:
    """What is known by storage: means, and the samples that it holds."""

    tensors: dict[int, FlowTensor]
    groups: dict[int, tuple[int, ...]]  # the ranks that meet, by run
    known: dict[int, _Means] = field(default_factory=dict)
    contents: dict[int, _Content] = field(default_factory=dict)
    written: dict[int, int] = field(default_factory=dict)

    def content(self, storage: int) -> _Content:
        """Which samples are in a storage now."""
        return self.contents.setdefault(storage, (storage, 0))

    def storages(self, tensors: Iterable[int]) -> list[int]:
        """Those of some tensors, each once, in order."""
        return list(dict.fromkeys(self.tensors[at].storage for at in tensors if at in self.tensors))

    def size(self, at: int) -> int:
        """How many numbers a tensor has."""
        return prod(self.tensors[at].type.shape) if at in self.tensors else 0

    def run(self, one: FlowOperation) -> None:
        """Go on after an operator."""
        read, made = self.storages(each.tensor for each in one.reads), self.storages(one.makes)
        made = made or (read if one.operation.writes else [])  # an operator on lists makes nothing
        meets = is_collective(one.operation.name)
        if not one.operation.writes and not meets and set(made) <= set(read):
            return  # a view
        name = base_name(one.operation.name)
        given = read[1:] if name == "copy_" else read
        after = self._met(one, name, read) if meets and name != _WAITS else self._computed(one, name, given)
        is_same = len(read) == 1 and name in _COPIES
        content = self.content(read[0]) if is_same else None
        for storage in made:
            self.written[storage] = self.written.get(storage, 0) + 1
            self.contents[storage] = content or (storage, self.written[storage])
            self.known.pop(storage, None)
            if after is not None:
                self.known[storage] = after

    def _met(self, one: FlowOperation, name: str, read: list[int]) -> _Means | None:
        """What ranks have when they have met for means of their own."""
        had = {self.known[each] for each in read if each in self.known}
        members = self.groups.get(one.run, ())
        is_plain = not _OTHERWISE.search((one.site.source if one.site else None) or "")
        if len(had) != 1 or len(members) < 2 or not is_plain or name not in _SUMS | _GATHERS:
            return None
        (means,) = had
        is_sum = name in _SUMS
        if means.members or (is_sum and len(read) > 1):
            return None
        joined = self.size(one.makes[0]) if len(one.makes) == 1 and not is_sum else 0
        return replace(means, members=members, averaged=is_sum, joined=joined)

    def _computed(self, one: FlowOperation, name: str, read: list[int]) -> _Means | None:
        """What an operator makes of samples or of means."""
        had = [self.known[each] for each in read if each in self.known]
        if not had:
            return self._of_samples(one, read) if name in _MEANS and len(read) == 1 else None
        if len(had) < len(read) or len({each.members for each in had}) > 1:
            return None
        means = replace(had[0], means=frozenset[_Mean]().union(*(each.means for each in had)))
        is_averaged = all(each.averaged for each in had)
        if name in _JOINS or name == "copy_":
            return (
                self._joined(one, means, is_averaged) if is_averaged or not any(each.averaged for each in had) else None
            )
        if is_averaged and name in _SCALES:
            return means if len(read) == 1 else None
        return self._added(one, name, means, len(read))

    def _joined(self, one: FlowOperation, means: _Means, is_averaged: bool) -> _Means:
        """The same, one beside the other: the parts of all ranks, where so many were gathered."""
        is_all = not is_averaged and len(one.reads) == len(means.members) > 1
        return replace(means, joined=self.size(one.makes[0])) if is_all and len(one.makes) == 1 else means

    def _added(self, one: FlowOperation, name: str, means: _Means, many: int) -> _Means | None:
        """What is made of the means of ranks that were gathered: of all at once, or of one after the other."""
        if not means.members:
            return None
        if name in _ADDS:
            return replace(means, averaged=means.averaged or many > 1)
        is_all = name in _ADDS_UP and many == 1 and self.size(one.reads[0].tensor) == means.joined
        return replace(means, averaged=True) if is_all else None

    def _of_samples(self, one: FlowOperation, read: list[int]) -> _Means | None:
        size = min(map(self.size, one.makes), default=0)
        count = self.size(one.reads[0].tensor) // size if size else 0
        if count < 1 or one.site is None:
            return None
        return _Means(frozenset((_Mean(self.content(read[0]), count, one.site),)))

    def taken_off(self, one: FlowOperation, step: int) -> Iterator[AlikeMean]:
        """The means of samples that an operator takes off of these."""
        name = base_name(one.operation.name)
        if one.site is None or (name not in _TAKES_OFF and _NORMALISES not in name):
            return
        read = self.storages(each.tensor for each in one.reads)
        for means in (self.known[each] for each in read[1:] if each in self.known):
            for mean in means.means if means.averaged else ():
                if mean.of == self.content(read[0]):
                    yield AlikeMean(mean.site, mean.count, one.site, step, means.members)


def alike_means(recording: Recording) -> Iterator[AlikeMean]:
    """Each place where such a mean is taken off of the samples of which a rank had taken its own."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        groups = read_process_groups(rows, interned)
        members = {run: tuple(groups[number].members) for run, number in read_groups_of_runs(rows).items()}
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, members)
    for step, one in forwards_of(recording):
        yield from sorted(walk.taken_off(one, step), key=lambda mean: str(mean.site))
        walk.run(one)
