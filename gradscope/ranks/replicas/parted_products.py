"""Products of an input that all ranks have with a part of a weight that each cut for itself by its outputs: what comes
of the product is a part, and is summed over the ranks later on."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_PRODUCTS = frozenset(("mm", "addmm", "bmm", "matmul", "linear"))
_TURNS = frozenset(("t", "transpose", "permute"))
_COPIES = frozenset(("clone", "contiguous", "copy_", "_to_copy"))
_SUMS = frozenset(("allreduce_", "all_reduce"))

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartedProduct:
    """The parameter of which each rank has a part, those that all have and that its input is computed from, and the
    shape of that input."""

    part: str
    shared: frozenset[str]
    shape: Shape


@dataclass(slots=True)
class _Walk:
    """By memory: the greatest tensor in it, what of a greater one was copied into it, the leaf that it is, which leaves
    it comes from that all ranks have, and of which products it has a part; `turned`: tensors that are another's
    transpose."""

    tensors: dict[int, FlowTensor]
    alike: Collection[str]
    unlike: Collection[str]
    wholes: dict[int, Shape] = field(default_factory=dict)
    cuts: dict[int, Shape] = field(default_factory=dict)
    leaves: dict[int, str] = field(default_factory=dict)
    shared: dict[int, frozenset[str]] = field(default_factory=dict)
    parts: dict[int, list[PartedProduct]] = field(default_factory=dict)
    turned: set[int] = field(default_factory=set)
    summed: list[PartedProduct] = field(default_factory=list)


def parted_products(recording: Recording, alike: Collection[str], unlike: Collection[str]) -> list[PartedProduct]:
    """Those on the way to the first backward call, which are summed over ranks before it, in order."""
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, alike, unlike)
    walk.leaves = {one.storage: one.leaf for one in walk.tensors.values() if one.parameter and one.leaf is not None}
    for one in recording.flow():
        if one.backward is not None:
            break
        reads = [walk.tensors[each.tensor] for each in one.reads if each.tensor in walk.tensors]
        makes = [walk.tensors[each] for each in one.makes if each in walk.tensors]
        if is_collective(one.operation.name):
            _meet(walk, one, reads, makes)
        else:
            _cut(walk, one, reads, makes)
            _follow(walk, one, reads, makes)
    return list(dict.fromkeys(walk.summed))


def _meet(walk: _Walk, one: FlowOperation, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
    """Note what is summed; what ranks have put together comes from no part any more."""
    if base_name(one.operation.name) in _SUMS:
        walk.summed += [part for each in reads if len(each.type.shape) > 1 for part in walk.parts.get(each.storage, ())]
    for each in (*reads, *makes):
        walk.parts.pop(each.storage, None)
        walk.shared.pop(each.storage, None)


def _cut(walk: _Walk, one: FlowOperation, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
    """Note what is copied out of something greater."""
    for each in (*reads, *makes):
        whole = walk.wholes.get(each.storage, ())
        if not whole or math.prod(whole) < math.prod(each.type.shape):
            walk.wholes[each.storage] = each.type.shape
    if base_name(one.operation.name) in _COPIES and reads and len(makes) == 1:
        source, made = reads[-1], makes[0]  # copy_ reads what it writes first
        if source.storage != made.storage and source.type.shape == made.type.shape:
            walk.cuts[made.storage] = walk.wholes[source.storage]


def _follow(walk: _Walk, one: FlowOperation, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
    """Hand on which leaves an operator's results come from, or that they are parts."""
    found = [part for storage in dict.fromkeys(each.storage for each in reads) for part in walk.parts.get(storage, ())]
    own = {walk.leaves[each.storage] for each in reads if each.storage in walk.leaves}
    shared = frozenset(own & set(walk.alike)).union(*(walk.shared.get(each.storage, ()) for each in reads))
    if base_name(one.operation.name) in _PRODUCTS:
        found += [part for given in reads[:-1] for part in _products(walk, reads[-1], given)]
    if base_name(one.operation.name) in _TURNS and reads and reads[0].number not in walk.turned:
        walk.turned.update(one.makes)
    is_apart = bool(found) or not own.isdisjoint(walk.unlike) or any(each.storage in walk.parts for each in reads)
    for each in makes:
        if each.storage not in walk.leaves:
            walk.parts.pop(each.storage, None)
            walk.shared.pop(each.storage, None)
            if is_apart:
                walk.parts[each.storage] = found
            elif shared:
                walk.shared[each.storage] = shared


def _products(walk: _Walk, weight: FlowTensor, given: FlowTensor) -> list[PartedProduct]:
    """The product with a part of a weight, cut by its outputs, of an input that all ranks have."""
    leaf, shared = walk.leaves.get(weight.storage), walk.shared.get(given.storage)
    if leaf is None or leaf not in walk.unlike or not shared or given.storage in walk.leaves:
        return []
    part, shape = _own_shape(walk, weight), given.type.shape
    whole = walk.cuts.get(weight.storage) or walk.wholes.get(weight.storage, ())
    if len(part) != 2 or len(whole) != 2 or not shape:
        return []
    summed = int(weight.number in walk.turned)  # the dimension over which the product adds up
    is_cut_by_outputs = part[summed] == whole[summed] and part[1 - summed] < whole[1 - summed]
    return [PartedProduct(leaf, shared, shape)] if is_cut_by_outputs and shape[-1] == part[summed] else []


def _own_shape(walk: _Walk, weight: FlowTensor) -> Shape:
    """A parameter's shape, of which an operator may read a view that is turned."""
    of_leaf = (one for one in walk.tensors.values() if one.storage == weight.storage and one.parameter and one.leaf)
    return next((one.type.shape for one in of_leaf), weight.type.shape)
