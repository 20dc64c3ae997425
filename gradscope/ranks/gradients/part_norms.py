"""Which parts of gradients a value is a norm of, and the line that scales these by it: since the last backward call, by
nothing in which another rank has a part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site

_VIEWS = frozenset(("view", "detach", "alias", "_unsafe_view", "flatten", "reshape"))
_NORMS = frozenset(("linalg_vector_norm", "_foreach_norm", "norm", "dot", "vdot"))
_SQUARES = frozenset(("pow", "square", "mul", "_foreach_pow", "_foreach_mul"))
_SCALES = frozenset(("mul_", "div_", "_foreach_mul_", "_foreach_div_"))
_IN_LISTS = "aten._foreach_"
REPLACES = frozenset(("copy_", "_foreach_copy_", "zero_", "fill_"))  # what was there before has no part in it
_SEVERAL = 2  # shards: one may be normalised by itself, on purpose


@dataclass(frozen=True, slots=True)
class PartNorm:
    """Of which shards a value is a norm, or the squares for one, and the line that put the last ones in."""

    shards: frozenset[int]
    site: Site | None


@dataclass(slots=True)
class PartNorms:
    """The memory of shards, which shard a view shows, and what was made of them since the last backward call."""

    tensors: dict[int, FlowTensor]
    shards: set[int] = field(default_factory=set)
    shown: dict[int, int] = field(default_factory=dict)
    norms: dict[int, PartNorm] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)  # memory in which other ranks have a part

    def memory(self, tensor: int) -> int:
        """The storage of a tensor; none has a negative number."""
        return self.tensors[tensor].storage if tensor in self.tensors else -1

    def size(self, tensor: int) -> int:
        """How many numbers it has."""
        return math.prod(self.tensors[tensor].type.shape) if tensor in self.tensors else 0


def exchanged(walk: PartNorms, one: FlowOperation) -> None:
    """Forget what others have a part in from now on."""
    for at in (*(each.tensor for each in one.reads), *one.makes):
        walk.norms.pop(walk.memory(at), None)
        walk.shards.discard(walk.memory(at))
        walk.shared.add(walk.memory(at))


def is_of_all(walk: PartNorms, norm: PartNorm) -> bool:
    """Whether a norm is that of all shards which this rank has."""
    return {walk.memory(at) for at in norm.shards} == walk.shards


def scaled_by(walk: PartNorms, one: FlowOperation, several: int = _SEVERAL) -> PartNorm | None:
    """The norm of several shards, of this rank alone, by which an operator scales shards in place."""
    if base_name(one.operation.name) not in _SCALES:
        return None
    in_list = {each.tensor for each in one.reads if one.operation.name.startswith(_IN_LISTS)}  # made is nothing then
    written = {walk.memory(at) for at in one.makes} or {walk.memory(at) for at in in_list} & walk.shards
    if not written or not written <= walk.shards:
        return None
    by = (each.tensor for each in one.reads if walk.memory(each.tensor) not in written)
    found = (walk.norms.get(walk.memory(at)) for at in by if walk.size(at) == 1)
    return next((norm for norm in found if norm is not None and len(norm.shards) >= several), None)


def follow(walk: PartNorms, one: FlowOperation) -> None:
    """Note what an operator makes of shards, and of norms or squares of them."""
    for reads, made in _pairs(one):
        parts = [at for at in reads if walk.memory(at) in walk.shards]
        if parts and len(parts) == len(reads):
            _of_shards(walk, one, parts, made)
        elif not parts:
            _of_norms(walk, one, reads, made)


def _pairs(one: FlowOperation) -> Iterator[tuple[list[int], int]]:
    """What goes into each tensor that an operator makes: of lists, one of each into one; none where that is unknown."""
    reads, many = [each.tensor for each in one.reads], len(one.makes)
    if many == 1 or (many and len(reads) % many == 0):
        yield from ((reads[at::many], made) for at, made in enumerate(one.makes))


def _of_shards(walk: PartNorms, one: FlowOperation, parts: list[int], made: int) -> None:
    name = base_name(one.operation.name)
    shown = frozenset(walk.shown.get(at, at) for at in parts)
    if name in _VIEWS and walk.memory(made) in walk.shards:
        walk.shown[made] = min(shown)
    elif name in _NORMS or (name in _SQUARES and walk.memory(made) not in walk.shards):
        walk.norms[walk.memory(made)] = PartNorm(shown, one.site)


def _of_norms(walk: PartNorms, one: FlowOperation, reads: list[int], made: int) -> None:
    """Hand on of which shards a value is: the line is that at which the last ones came to it."""
    memory, kept = walk.memory(made), {walk.memory(at) for at in reads}
    if base_name(one.operation.name) in REPLACES:
        kept.discard(memory)
    if not walk.shared.isdisjoint(kept):
        walk.norms.pop(memory, None)
        walk.shared.add(memory)
        return
    found = [walk.norms[each] for each in kept if each in walk.norms]
    walk.shared.discard(memory)
    walk.norms.pop(memory, None)
    if found:
        shards = frozenset[int]().union(*(norm.shards for norm in found))
        most = max(found, key=lambda norm: len(norm.shards))
        walk.norms[memory] = most if most.shards == shards else PartNorm(shards, one.site)
