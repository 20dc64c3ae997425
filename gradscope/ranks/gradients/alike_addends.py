"""What all ranks have alike and each adds to its part of a result before the parts are summed: a table, or what comes
of weights and data that all have, as of a residual that came to stand inside of the sum."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.losses import are_alike, losses_of
from gradscope.ranks.gradients.doubled import SUMS, sum_on
from gradscope.ranks.source.leaf_names import LeafNames, leaf_names
from gradscope.ranks.source.syntax import function_around, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_ADDITIONS = frozenset(("add", "add_", "addmm", "addmv", "baddbmm"))  # of products: the addend comes first
_COPIES = frozenset(("clone", "detach", "contiguous", "_to_copy", "alias"))
_SELECTS = frozenset(("index", "select", "slice", "narrow", "gather", "index_select", "masked_fill", "where"))
_SCALES = frozenset(("mul", "mul_", "div", "div_", "sub", "sub_"))
_WEIGHS = ("alpha", "beta")  # of an addition: numbers that are not recorded
_LOOKS = 2
_LOSSES = 3
_SHARES = 2  # at least, in which ranks divide data
_ALIKE = 1e-4  # relative
_LOOKUPS = frozenset(("embedding", "index"))


@dataclass(frozen=True, slots=True)
class AlikeAddend:
    """The line that adds, the leaf that is added, None for what is computed, and the line of the sum over ranks."""

    site: Site
    leaf: str | None
    summed: Site


@dataclass(frozen=True, slots=True)
class _Added:
    site: Site
    leaf: str | None
    size: int


@dataclass(slots=True)
class _Walk:
    """By memory: the names of leaves, its greatest tensor, what is equal on all ranks, and of this what was multiplied
    by a number, what is a part, what was selected of data, by the rank it may be, what had something equal added, and
    sums of that which nothing has read."""

    tensors: dict[int, FlowTensor]
    names: LeafNames
    alike: Collection[str]
    unlike: Collection[str]
    wholes: dict[int, int] = field(default_factory=dict)
    equal: set[int] = field(default_factory=set)
    weighed: set[int] = field(default_factory=set)
    parts: set[int] = field(default_factory=set)
    selected: set[int] = field(default_factory=set)
    added: dict[int, _Added] = field(default_factory=dict)
    waiting: dict[int, AlikeAddend] = field(default_factory=dict)

    def forget(self) -> None:
        """A backward begins: what comes next is of another step."""
        for one in (self.equal, self.weighed, self.parts, self.added, self.waiting):
            one.clear()

    def is_equal(self, storage: int) -> bool:
        """Whether all ranks have it alike."""
        return storage in self.equal or self.names.of_storage.get(storage) in self.alike

    def is_part(self, storage: int) -> bool:
        """Whether each rank has its own."""
        return storage in self.parts or self.names.of_storage.get(storage) in self.unlike

    def is_selected(self, one: FlowTensor) -> bool:
        """Whether data are a part of others, which may be another one on each rank."""
        return one.storage in self.selected or _SHARES * _size(one) <= self.wholes.get(one.storage, 0)


def alike_addend(ranks: Ranks) -> AlikeAddend | None:
    """The first such addend that two ranks add by one line, of ranks that compute one loss."""
    sums = any(one.operator.startswith(SUMS) and not one.inside for one in ranks.collectives)
    averages = any(one.is_wrapped or one.by_hand or one.in_hooks for one in ranks.averaging.values())
    if len(ranks.ranks) < 2 or not sums or averages or not _have_one_loss(ranks):
        return None
    alike, unlike = _leaves(ranks)
    if not alike or not unlike:
        return None
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        found = list(dict.fromkeys(_found(here, alike, unlike)))
        theirs = set(_found(there, alike, unlike)) if found else set()
        return next((one for one in found if one in theirs), None)


def _have_one_loss(ranks: Ranks) -> bool:
    """Whether all ranks have the same losses: else each has samples of its own."""
    losses = losses_of(ranks, [number for numbers in ranks.losses.values() for number in numbers], _LOSSES)
    return bool(losses and losses[0]) and are_alike(losses, _ALIKE)


def _leaves(ranks: Ranks) -> tuple[set[str], set[str]]:
    """The leaves that all ranks have alike at each look, and those that they never have."""
    measured, looks = ranks.leaves, dict[str, list[bool]]()
    for at, groups in measured.ranks.items():
        values: dict[str, set[str]] = {}
        for content in groups:
            for name, norm in measured.first[at, content].norms:
                values.setdefault(name, set()).add(norm)
        for name, each in values.items():
            looks.setdefault(name, []).append(len(each) == 1)
    known = {name: each for name, each in looks.items() if len(each) >= _LOOKS}
    return {name for name, each in known.items() if all(each)}, {name for name, each in known.items() if not any(each)}


def _found(recording: Recording, alike: Collection[str], unlike: Collection[str]) -> Iterator[AlikeAddend]:
    """Each such sum, in order."""
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, leaf_names(recording), alike, unlike)
    for one in recording.flow():
        if one.backward is not None:
            yield from walk.waiting.values()
            walk.forget()
            continue
        reads = [walk.tensors[each.tensor] for each in one.reads if each.tensor in walk.tensors]
        makes = [walk.tensors[each] for each in one.makes if each in walk.tensors]
        for each in (*reads, *makes):
            walk.wholes[each.storage] = max(walk.wholes.get(each.storage, 0), _size(each))
        if is_collective(one.operation.name):
            _meet(recording, walk, one, [*reads, *makes])
        elif one.operation.writes or not {each.storage for each in makes} <= {each.storage for each in reads}:
            yield from _read(walk, one, reads)
            _follow(walk, one, reads, makes)  # else it is a view


def _meet(recording: Recording, walk: _Walk, one: FlowOperation, tensors: list[FlowTensor]) -> None:
    """What is summed is equal from here on; of what others put together nothing is known."""
    is_sum = one.operation.name.startswith(SUMS) and one.site is not None and _is_sum(recording, one.site)
    for each in tensors:
        added = walk.added.pop(each.storage, None)
        for known in (walk.parts, walk.equal, walk.weighed, walk.selected):
            known.discard(each.storage)
        if is_sum:
            walk.equal.add(each.storage)
        if is_sum and added is not None and one.site is not None and 1 < _size(each) == added.size:
            walk.waiting[each.storage] = AlikeAddend(added.site, added.leaf, one.site)


def _is_sum(recording: Recording, site: Site) -> bool:
    """Whether a line of the program sums over ranks; where torch calls the collective, its name has to do."""
    function = function_around(tree_of(recording, site), site.line)
    return function is not None and sum_on(function, site.line) is not None


def _read(walk: _Walk, one: FlowOperation, reads: list[FlowTensor]) -> Iterator[AlikeAddend]:
    """Sums that are read as they are, and not scaled first, as a mean is."""
    for each in reads:
        waits = walk.waiting.get(each.storage)
        if waits is not None and base_name(one.operation.name) not in _COPIES:
            del walk.waiting[each.storage]
            if base_name(one.operation.name) not in _SCALES:
                yield waits


def _follow(walk: _Walk, one: FlowOperation, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
    """Hand on what is equal, selected, a part, and a part with something equal."""
    name, is_part = base_name(one.operation.name), any(walk.is_part(each.storage) for each in reads)
    equal = [each for each in reads if walk.is_equal(each.storage)]
    data = [each for each in reads if each not in equal]
    is_weighed = any(each.storage in walk.weighed for each in equal) or (name in _SCALES and len(reads) == 1)
    is_looked_up = name in _LOOKUPS and reads and reads[0].storage in walk.names.leaves
    is_other = (name in _SELECTS and not is_looked_up) or (name in _SCALES and bool(data))
    is_other = is_other or any(map(walk.is_selected, data))
    added = _added(walk, one, reads)
    for each in makes:
        walk.added.pop(each.storage, None)
        for known in (walk.equal, walk.weighed, walk.parts, walk.selected):
            known.discard(each.storage)
        kind = walk.parts if is_part else walk.selected if is_other else walk.equal if equal else None
        if kind is not None:
            kind.add(each.storage)
        if is_weighed:
            walk.weighed.add(each.storage)
        if added is not None:
            walk.added[each.storage] = added


def _added(walk: _Walk, one: FlowOperation, reads: list[FlowTensor]) -> _Added | None:
    """A part to which something equal was added here, or before, if an operator leaves that in it as it is."""
    name, before = base_name(one.operation.name), [walk.added.get(each.storage) for each in reads]
    size = max((_size(walk.tensors[at]) for at in one.makes if at in walk.tensors), default=0)
    if name in _ADDITIONS and len(reads) > 1 and one.site is not None and not _is_weighed(one.site):
        for addend in reads if name in ("add", "add_") else reads[:1]:
            others = [each.storage for each in reads if each is not addend]
            if _is_addend(walk, addend) and any(map(walk.is_part, others)):
                return _Added(one.site, walk.names.of_storage.get(addend.storage), size)
    handed_on = name in _COPIES or name in ("add", "add_") or (name == "cat" and None not in before)
    first = next((each for each in before if each is not None), None)
    return None if first is None or not handed_on else _Added(first.site, first.leaf, size)


def _is_addend(walk: _Walk, one: FlowTensor) -> bool:
    """Whether all ranks have something alike, as it is, and whole, if it is a leaf."""
    leaf = walk.names.leaves.get(one.storage)
    is_whole = leaf is None or _size(leaf) <= _size(one)
    return walk.is_equal(one.storage) and one.storage not in walk.weighed and is_whole


def _size(one: FlowTensor) -> int:
    return math.prod(one.type.shape)


def _is_weighed(site: Site) -> bool:
    return any(word in (site.source or "") for word in _WEIGHS)
