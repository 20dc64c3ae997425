"""Totals that live from step to step, and are summed over the ranks again with what was summed before."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_ROUNDS = 2  # in which a total was added to and summed, after it was summed first
_ADDS = "add_"
_COMPUTES = frozenset(
    ("add", "sub", "mul", "div", "sqrt", "rsqrt", "reciprocal", "pow", "log", "mm", "lerp", "addcdiv")
)
_CUTS = frozenset(
    (
        *("argmin", "argmax", "eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "one_hot", "sort", "argsort"),
        *("topk", "bucketize", "searchsorted", "zeros_like", "ones_like", "full_like", "empty_like", "new_zeros"),
    )
)  # what they make is chosen by what they read, and no amount of it


@dataclass(frozen=True, slots=True)
class Total:
    """The line that adds to a total, and that which sums it."""

    added: Site
    summed: Site


@dataclass(slots=True)
class _Kept:
    """Memory that was summed: where, the line that has added to it since, whether anything computes with it, and in
    how many rounds it was added to and summed again."""

    summed: Site
    size: int
    added: Site | None = None
    computes: bool = False
    rounds: int = 0


@dataclass(slots=True)
class _Totals:
    """What is known of memory that is summed over the ranks, by storage; `holds`: by storage, what of such memory was
    computed into it."""

    recording: Recording
    sums: frozenset[str]  # lines by which two ranks meet
    tensors: dict[int, FlowTensor] = field(init=False)
    kept: dict[int, _Kept] = field(default_factory=dict)
    holds: dict[int, frozenset[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.tensors = {one.number: one for one in self.recording.flow_tensors()}

    def found(self) -> Iterator[Total]:
        """Each total that was summed again and again."""
        run = 0
        for one in self.recording.flow():
            if one.run > run + 1:
                self.kept.clear()  # nobody knows what ran between
            run = one.run
            given = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
            made = {self.tensors[each].storage for each in one.makes if each in self.tensors}
            if one.operation.name.startswith(SUMS):
                yield from self._sum(one, given)
            elif is_collective(one.operation.name):
                self._forget({each.storage for each in given} | made)
            else:
                self._run(one, given, made)

    def _sum(self, one: FlowOperation, given: list[FlowTensor]) -> Iterator[Total]:
        site = one.site
        for each in given:
            kept = self.kept.pop(each.storage, None)
            if site is None or one.backward is not None or str(site) not in self.sums or len(given) > 1:
                continue
            after = _Kept(site, _size(each))
            if kept is not None and kept.added is not None and (kept.summed, kept.size) == (site, after.size):
                after.rounds, after.computes = kept.rounds + 1, kept.computes
                if after.rounds >= _ROUNDS and after.computes and self._is_sum(site):
                    yield Total(kept.added, site)
            if not each.parameter and each.leaf is None:
                self.kept[each.storage] = after

    def _run(self, one: FlowOperation, given: list[FlowTensor], made: set[int]) -> None:
        """Go on after another operator: one that writes a total makes it another, but for one that adds to it."""
        read, name = {each.storage for each in given}, base_name(one.operation.name)
        if one.operation.writes and not made.isdisjoint(self.kept):
            self._written(one, given, made, name)
        for storage in read & self.kept.keys() - made:
            self.kept[storage].computes |= name in _COMPUTES and one.backward is None
        changed = made if one.operation.writes else made - read
        if changed and one.backward is None:
            held = frozenset[int]() if name in _CUTS else self._held([each for each in given if not each.parameter])
            self.holds.update(dict.fromkeys(changed, held))

    def _written(self, one: FlowOperation, given: list[FlowTensor], made: set[int], name: str) -> None:
        storage = given[0].storage if given else None
        kept = None if storage is None else self.kept.get(storage)
        is_whole = kept is not None and _size(given[0]) == kept.size and made == {storage}
        held = self._held(given[1:])
        if kept is None or name != _ADDS or not is_whole or one.backward is not None or storage in held:
            self._forget(made)
        else:
            kept.added = one.site or kept.added

    def _held(self, given: list[FlowTensor]) -> frozenset[int]:
        """The totals that some tensors are, or were computed of."""
        storages = {each.storage for each in given}
        return frozenset(storages & self.kept.keys()).union(*(self.holds.get(each, frozenset()) for each in storages))

    def _forget(self, storages: set[int]) -> None:
        for storage in storages:
            self.kept.pop(storage, None)

    def _is_sum(self, site: Site) -> bool:
        function = function_around(tree_of(self.recording, site), site.line)
        return function is not None and sum_on(function, site.line) is not None


def summed_total(ranks: Ranks) -> Total | None:
    """The first such total that two ranks have alike."""
    members = [one.rank for one in ranks.ranks[:2]]
    sums = frozenset(
        str(one.site)
        for one in ranks.collectives
        if one.operator.startswith(SUMS) and not one.inside and one.site is not None
        if one.group is not None and set(members) <= set(one.group.members)
    )
    if len(members) < 2 or not sums:
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        found = next(_Totals(here, sums).found(), None)
        return found if found is not None and found in _Totals(there, sums).found() else None


def _size(tensor: FlowTensor) -> int:
    return math.prod(tensor.type.shape)
