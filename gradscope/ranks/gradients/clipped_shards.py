"""Shards of gradients that a program scales by a norm which it took of this rank's shards alone, by hand."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_MAKES_SHARDS = frozenset(("empty", "empty_like", "new_empty", "_to_copy"))
_VIEWS = frozenset(("view", "detach", "alias", "_unsafe_view", "flatten", "reshape"))
_NORMS = frozenset(("linalg_vector_norm", "_foreach_norm", "norm", "dot", "vdot"))
_SQUARES = frozenset(("pow", "square", "mul", "_foreach_pow", "_foreach_mul"))
_SCALES = frozenset(("mul_", "div_", "_foreach_mul_", "_foreach_div_"))
_IN_LISTS = "aten._foreach_"
_REPLACES = frozenset(("copy_", "_foreach_copy_", "zero_", "fill_"))  # what was there before has no part in it
_CLIPS = "clip_grad_norm_"  # of torch's: what it is given is asked for elsewhere
_SEVERAL = 2  # shards: one may be normalised by itself, on purpose


@dataclass(frozen=True, slots=True)
class _Norm:
    """Of which shards a value is a norm, or the squares for one, and the line that put the last ones in."""

    shards: frozenset[int]
    site: Site | None


@dataclass(slots=True)
class _Walk:
    """The memory of shards, which shard a view shows, and what was made of them since the last backward call."""

    tensors: dict[int, FlowTensor]
    shards: set[int] = field(default_factory=set)
    shown: dict[int, int] = field(default_factory=dict)
    norms: dict[int, _Norm] = field(default_factory=dict)
    shared: set[int] = field(default_factory=set)  # memory in which other ranks have a part

    def memory(self, tensor: int) -> int:
        """The storage of a tensor; none has a negative number."""
        return self.tensors[tensor].storage if tensor in self.tensors else -1

    def size(self, tensor: int) -> int:
        """How many numbers it has."""
        return math.prod(self.tensors[tensor].type.shape) if tensor in self.tensors else 0


def clipped_shards(recording: Recording, sizes: Collection[int]) -> tuple[Site, Site] | None:
    """The line that takes a norm of several of this rank's shards, by which they are scaled though no other rank had a
    part in it, and the line that scales. `sizes`: how many numbers the shards have that a backward call scatters
    together."""
    walk = _Walk({one.number: one for one in recording.flow_tensors()})
    for one in recording.flow():
        if one.backward is not None:
            walk.norms.clear()
            walk.shared.clear()
            _scattered(walk, one, sizes)
        elif is_collective(one.operation.name):
            _exchanged(walk, one)
        else:
            norm = _scaled_by(walk, one)
            if norm is not None and norm.site is not None and one.site is not None:
                return norm.site, one.site
            _follow(walk, one)
    return None


def _scattered(walk: _Walk, one: FlowOperation, sizes: Collection[int]) -> None:
    """Note memory that a backward call makes of the size of this rank's shards."""
    if base_name(one.operation.name) in _MAKES_SHARDS:
        flat = (at for at in one.makes if at in walk.tensors and len(walk.tensors[at].type.shape) == 1)
        walk.shards |= {walk.memory(at) for at in flat if walk.size(at) in sizes}


def _exchanged(walk: _Walk, one: FlowOperation) -> None:
    """Forget what others have a part in from now on."""
    for at in (*(each.tensor for each in one.reads), *one.makes):
        walk.norms.pop(walk.memory(at), None)
        walk.shards.discard(walk.memory(at))
        walk.shared.add(walk.memory(at))


def _scaled_by(walk: _Walk, one: FlowOperation) -> _Norm | None:
    """The norm of several shards, of this rank alone, by which an operator scales shards in place."""
    if base_name(one.operation.name) not in _SCALES or _is_in_a_clip(one.operation.stack):
        return None
    in_list = {each.tensor for each in one.reads if one.operation.name.startswith(_IN_LISTS)}  # made is nothing then
    written = {walk.memory(at) for at in one.makes} or {walk.memory(at) for at in in_list} & walk.shards
    if not written or not written <= walk.shards:
        return None
    by = (each.tensor for each in one.reads if walk.memory(each.tensor) not in written)
    found = (walk.norms.get(walk.memory(at)) for at in by if walk.size(at) == 1)
    return next((norm for norm in found if norm is not None and len(norm.shards) >= _SEVERAL), None)


def _is_in_a_clip(stack: Stack) -> bool:
    return any(site.function == _CLIPS for site in stack)


def _follow(walk: _Walk, one: FlowOperation) -> None:
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


def _of_shards(walk: _Walk, one: FlowOperation, parts: list[int], made: int) -> None:
    name = base_name(one.operation.name)
    shown = frozenset(walk.shown.get(at, at) for at in parts)
    if name in _VIEWS and walk.memory(made) in walk.shards:
        walk.shown[made] = min(shown)
    elif name in _NORMS or (name in _SQUARES and walk.memory(made) not in walk.shards):
        walk.norms[walk.memory(made)] = _Norm(shown, one.site)


def _of_norms(walk: _Walk, one: FlowOperation, reads: list[int], made: int) -> None:
    """Hand on of which shards a value is: the line is that at which the last ones came to it."""
    memory, kept = walk.memory(made), {walk.memory(at) for at in reads}
    if base_name(one.operation.name) in _REPLACES:
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
        walk.norms[memory] = most if most.shards == shards else _Norm(shards, one.site)
