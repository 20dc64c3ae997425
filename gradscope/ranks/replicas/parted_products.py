"""Products of an input that all ranks have with a part of a weight that each cut for itself by its outputs: what comes
of the product is a part, and is summed over the ranks later on."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.ranks.source.leaf_names import LeafNames
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

PRODUCTS = frozenset(("mm", "addmm", "bmm", "baddbmm", "matmul", "linear", "convolution"))
_FILTER = "convolution"
_TURNS = frozenset(("t", "transpose", "permute"))
_SCALES = frozenset(("mul", "div"))  # rows of a weight, by their norms
_COPIES = frozenset(("clone", "contiguous", "copy_", "_to_copy"))
_SUMS = frozenset(("allreduce_", "all_reduce"))

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class PartedProduct:
    """The parameter of which each rank has a part, those that all have and that its input is computed from, the shape
    of that input, and how many of the outputs the part has."""

    part: str
    shared: frozenset[str]
    shape: Shape
    outputs: int


@dataclass(slots=True)
class _Walk:
    """By memory: the greatest tensor in it, what of a greater one was copied into it, the leaf that it is, which leaves
    it comes from that all ranks have, and of which products it has a part; `turned`: tensors that are another's
    transpose; `shapes`: of leaves, of which an operator may read a view that is turned, or a copy, as it is or with
    scaled rows, that is `copied` from one."""

    tensors: dict[int, FlowTensor]
    alike: Collection[str]
    unlike: Collection[str]
    leaves: dict[int, str]
    wholes: dict[int, Shape] = field(default_factory=dict)
    cuts: dict[int, Shape] = field(default_factory=dict)
    shared: dict[int, frozenset[str]] = field(default_factory=dict)
    parts: dict[int, list[PartedProduct]] = field(default_factory=dict)
    turned: set[int] = field(default_factory=set)
    summed: list[PartedProduct] = field(default_factory=list)
    shapes: dict[int, Shape] = field(default_factory=dict)
    copied: dict[int, int] = field(default_factory=dict)

    def forget(self) -> None:
        """A backward begins: what comes next is of another step."""
        if self.summed or self.parts or self.shared:
            self.summed, self.parts, self.shared = [], {}, {}


def parted_products(
    recording: Recording, names: LeafNames, alike: Collection[str], unlike: Collection[str]
) -> dict[int, list[PartedProduct]]:
    """By backward call: those on the way to it, which are summed over ranks before it, in order."""
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, alike, unlike, names.of_storage)
    walk.shapes = {storage: one.type.shape for storage, one in names.leaves.items()}
    found: dict[int, list[PartedProduct]] = {}
    for one in recording.flow():
        if one.backward is not None:
            found.setdefault(one.backward, list(dict.fromkeys(walk.summed)))
            walk.forget()
            continue
        reads = [walk.tensors[each.tensor] for each in one.reads if each.tensor in walk.tensors]
        makes = [walk.tensors[each] for each in one.makes if each in walk.tensors]
        if is_collective(one.operation.name):
            _meet(walk, one, reads, makes)
        else:
            _cut(walk, one, reads, makes)
            _follow(walk, one, reads, makes)
    return found


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
        if source.storage in walk.leaves or source.storage in walk.copied:
            walk.copied[made.storage] = walk.copied.get(source.storage, source.storage)
            walk.turned.update(one.makes if source.number in walk.turned else ())
    if base_name(one.operation.name) in _SCALES and reads and len(makes) == 1:
        _scale(walk, reads, makes[0])


def _scale(walk: _Walk, reads: list[FlowTensor], made: FlowTensor) -> None:
    """Note a weight that is scaled by what no input has a part in, and stays the part that it is."""
    weight, *by = reads
    at = walk.copied.get(weight.storage, weight.storage)
    is_part = walk.leaves.get(at) in walk.unlike and weight.type.shape == made.type.shape
    is_alone = all(not walk.parts.get(one.storage) and one.storage not in walk.shared for one in by)
    if is_part and is_alone and made.storage != weight.storage:
        walk.copied[made.storage] = at
        walk.turned.update([made.number] if weight.number in walk.turned else ())


def _follow(walk: _Walk, one: FlowOperation, reads: list[FlowTensor], makes: list[FlowTensor]) -> None:
    """Hand on which leaves an operator's results come from, or that they are parts."""
    found = [part for storage in dict.fromkeys(each.storage for each in reads) for part in walk.parts.get(storage, ())]
    own = {walk.leaves[each.storage] for each in reads if each.storage in walk.leaves}
    shared = frozenset(own & set(walk.alike)).union(*(walk.shared.get(each.storage, ()) for each in reads))
    if base_name(one.operation.name) in PRODUCTS:
        pairs = [(weight, given) for weight in reads for given in reads if given is not weight]
        is_filter = base_name(one.operation.name) == _FILTER
        found += [part for weight, given in pairs for part in _products(walk, weight, given, is_filter)]
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


def _products(walk: _Walk, weight: FlowTensor, given: FlowTensor, is_filter: bool) -> list[PartedProduct]:
    """The product with a part of a weight, cut by its outputs, of an input that all ranks have."""
    at = walk.copied.get(weight.storage, weight.storage)
    leaf, shared = walk.leaves.get(at), walk.shared.get(given.storage)
    if leaf is None or leaf not in walk.unlike or not shared or given.storage in walk.leaves:
        return []
    part, shape = walk.shapes.get(at, weight.type.shape), given.type.shape
    whole = walk.cuts.get(at) or walk.wholes.get(at, ())
    cut = [at for at, size in enumerate(part) if len(part) == len(whole) and size < whole[at]]
    if len(cut) != 1 or len(part) < 2 or not shape:
        return []
    if is_filter:
        adds_up_whole = cut[0] == 0 and len(shape) > 1 and shape[1] == part[1]
    elif len(part) == 2:
        adds_up_whole = cut[0] != int(weight.number in walk.turned) and shape[-1] == part[1 - cut[0]]
    else:
        adds_up_whole = shape[-1] != part[cut[0]] and shape[-1] in part
    return [PartedProduct(leaf, shared, shape, part[cut[0]])] if adds_up_whole else []
