"""Parameters that tensor-parallel ranks hold alike, as the norm of queries, and that each uses for its own heads alone:
the gradient of a rank is that of its heads, and the copies drift apart where nobody sums it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.model.training import STEP
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.drifting import why_apart
from gradscope.ranks.replicas.held import call_of_optimizer
from gradscope.ranks.replicas.parted_products import PRODUCTS, parted_products
from gradscope.ranks.replicas.partial_gradients import alike_at_first, have_one_loss, holders_of_parts
from gradscope.ranks.source.leaf_names import LeafNames, leaf_names
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording, load

_VIEWS = frozenset(("view", "_unsafe_view", "reshape", "unflatten"))
_COPIES = frozenset(("clone", "contiguous", "copy_", "_to_copy"))


@dataclass(frozen=True, slots=True)
class Heads:
    """The parameter whose outputs a rank has a part of, and of how many heads its part is."""

    part: str
    count: int


@dataclass(frozen=True, slots=True)
class OwnHeads:
    """The parameter that drifts, the heads that it is used for, and the line that steps it."""

    apart: Apart
    heads: Heads
    site: Site | None


def trained_by_own_heads(ranks: Ranks) -> Iterator[OwnHeads]:
    """The first such parameters of each group of ranks."""
    for replicas in holders_of_parts(ranks):
        found = _found(ranks, replicas)
        if found is not None:
            yield found


def _found(ranks: Ranks, replicas: Replicas) -> OwnHeads | None:
    looks = looks_of(ranks.leaves, replicas)
    if len(looks) < 2 or not have_one_loss(ranks, replicas, looks[0]):
        return None
    alike, unlike = alike_at_first(ranks, replicas, looks)
    drifting = {name for name in alike if first_apart(ranks.leaves, replicas, looks[1:], name.__eq__) is not None}
    if not unlike or not drifting or drifting == alike:
        return None
    number = replicas.members[0]
    with load(Path(ranks.rank(number).path)) as recording:
        own = [{ranks.own(number, name) for name in each} for each in (alike, unlike, drifting)]
        used = _used_for_heads(recording, *own)
    leaves = {name for name in drifting if ranks.own(number, name) in used}
    apart = first_apart(ranks.leaves, replicas, looks[1:], leaves.__contains__)
    if apart is None or why_apart(ranks, apart) is not None:
        return None
    return OwnHeads(apart, used[ranks.own(number, apart.leaf)], call_of_optimizer(ranks, apart, STEP))


def _used_for_heads(
    recording: Recording, alike: Collection[str], unlike: Collection[str], drifting: Collection[str]
) -> dict[str, Heads]:
    """By parameter that drifts: the heads that each rank uses it for, before the first backward call.

    What such heads are computed from has to be kept equal: then all ranks have one input and sum what they pass back.
    """
    names = leaf_names(recording)
    products = next(iter(parted_products(recording, names, alike, unlike).values()), [])
    outputs = {one.part: one.outputs for one in products if one.shared.isdisjoint(drifting)}
    if not outputs:
        return {}
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, names, outputs, drifting)
    for one in recording.flow():
        if one.backward is not None:
            break
        walk.follow(one)
    return {leaf: heads for leaf, heads in walk.found.items() if leaf not in walk.cut}


@dataclass(slots=True)
class _Walk:
    """By memory: what is made of which part, how it was split into heads and their features, and what is made of one
    drifting parameter alone; `cut`: parameters that were taken out of something greater, as those of a head are."""

    tensors: dict[int, FlowTensor]
    names: LeafNames
    outputs: Mapping[str, int]
    drifting: Collection[str]
    parts: dict[int, str] = field(default_factory=dict)
    splits: dict[int, frozenset[tuple[int, int]]] = field(default_factory=dict)
    alone: dict[int, str] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)
    found: dict[str, Heads] = field(default_factory=dict)

    def follow(self, one: FlowOperation) -> None:
        """Go on after an operator."""
        reads = [self.tensors[each.tensor] for each in one.reads if each.tensor in self.tensors]
        makes = [self.tensors[each] for each in one.makes if each in self.tensors]
        name = base_name(one.operation.name)
        self._measure(name, reads, makes)
        if is_collective(one.operation.name):
            for each in (*reads, *makes):
                self.parts.pop(each.storage, None)
        elif reads and {each.storage for each in makes} <= {each.storage for each in reads}:
            self._split(name, reads[0], makes)
        elif reads and makes:
            self._compute(name, reads, makes)

    def _measure(self, name: str, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
        """Note how much a memory holds, and which parameters are less than what they come from."""
        for each in (*reads, *makes):
            self.sizes[each.storage] = max(self.sizes.get(each.storage, 0), prod(each.type.shape))
        source = reads[-1:] if name in _COPIES else []  # copy_ reads what it writes first
        for each in makes:
            leaf = self.names.of_storage.get(each.storage)
            whole = max(self.sizes[one.storage] for one in (each, *source))
            if leaf is not None and whole > prod(self.names.leaves[each.storage].type.shape):
                self.cut.add(leaf)

    def _split(self, name: str, source: FlowTensor, makes: list[FlowTensor]) -> None:
        """Note that the outputs of a part are seen as those of some heads."""
        part = self.parts.get(source.storage)
        if part is None or name not in _VIEWS:
            return
        for each in makes:
            split = each.type.shape[-2:]
            if len(split) == 2 and source.type.shape[-1] == prod(split) and self.outputs[part] % prod(split) == 0:
                self.splits[source.storage] = self.splits.get(source.storage, frozenset()) | {(split[0], split[1])}

    def _compute(self, name: str, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
        of_leaves = [self.names.of_storage.get(each.storage, self.alone.get(each.storage)) for each in reads]
        parted = [leaf for leaf in of_leaves if leaf is not None and leaf in self.outputs and name in PRODUCTS]
        ours = [each for each in reads if each.storage in self.parts]
        for leaf, read in zip(of_leaves, reads, strict=True):
            if leaf is not None and leaf in self.drifting and name not in PRODUCTS:
                self._use(leaf, read, ours, makes[0])
        only = of_leaves[0] if len(set(of_leaves)) == 1 and of_leaves[0] in self.drifting else None
        for each in makes:
            for known in (self.parts, self.splits, self.alone):
                known.pop(each.storage, None)
            if parted or ours:
                self.parts[each.storage] = parted[0] if parted else self.parts[ours[0].storage]
                alike = [one for one in ours if one.type.shape == each.type.shape and name not in PRODUCTS]
                self.splits[each.storage] = frozenset().union(*(self.splits.get(one.storage, ()) for one in alike))
            elif only is not None:
                self.alone[each.storage] = only

    def _use(self, leaf: str, read: FlowTensor, ours: list[FlowTensor], made: FlowTensor) -> None:
        """Note a parameter that has a number for each feature of a head, and is used for all heads of a part alike: a
        part of one head alone, or of as many as a head has features, tells nothing."""
        size, shape = prod(read.type.shape), made.type.shape
        if read.type.shape[-1:] != (size,) or shape[-1:] != (size,):
            return
        for each in ours:
            for count, features in self.splits.get(each.storage, ()):
                if each.type.shape == shape and features == size != count > 1 and count in shape[:-1]:
                    self.found.setdefault(leaf, Heads(self.parts[each.storage], count))
