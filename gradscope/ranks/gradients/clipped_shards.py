"""Shards of gradients that a program scales by a norm which it took of this rank's shards alone, by hand."""

from __future__ import annotations

from collections.abc import Collection

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.gradients.part_norms import PartNorms, exchanged, follow, scaled_by
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_MAKES_SHARDS = frozenset(("empty", "empty_like", "new_empty", "_to_copy"))
_CLIPS = "clip_grad_norm_"  # of torch's: what it is given is asked for elsewhere


def clipped_shards(recording: Recording, sizes: Collection[int]) -> tuple[Site, Site] | None:
    """The line that takes a norm of several of this rank's shards, by which they are scaled though no other rank had a
    part in it, and the line that scales. `sizes`: how many numbers the shards have that a backward call scatters
    together."""
    walk = PartNorms({one.number: one for one in recording.flow_tensors()})
    for one in recording.flow():
        if one.backward is not None:
            walk.norms.clear()
            walk.shared.clear()
            _scattered(walk, one, sizes)
        elif is_collective(one.operation.name):
            exchanged(walk, one)
        else:
            norm = None if _is_in_a_clip(one.operation.stack) else scaled_by(walk, one)
            if norm is not None and norm.site is not None and one.site is not None:
                return norm.site, one.site
            follow(walk, one)
    return None


def _scattered(walk: PartNorms, one: FlowOperation, sizes: Collection[int]) -> None:
    """Note memory that a backward call makes of the size of this rank's shards."""
    if base_name(one.operation.name) in _MAKES_SHARDS:
        flat = (at for at in one.makes if at in walk.tensors and len(walk.tensors[at].type.shape) == 1)
        walk.shards |= {walk.memory(at) for at in flat if walk.size(at) in sizes}


def _is_in_a_clip(stack: Stack) -> bool:
    return any(site.function == _CLIPS for site in stack)
