"""Shards into which a program scatters all gradients of a model itself, after the backward: none of them is clipped by
the norm of all."""

from __future__ import annotations

from collections.abc import Mapping

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.gradients.clipped_cuts import GATHERS
from gradscope.ranks.gradients.part_norms import PartNorm, PartNorms, exchanged, follow, is_of_all, scaled_by
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_groups_of_runs, read_process_groups
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording

_SCATTERS = ("c10d._reduce_scatter_base_.", "c10d.reduce_scatter_.")
_MAKES_ANEW = frozenset(("div", "mul", "clone", "_to_copy"))  # of a shard, another one

Places = tuple[Site, Site]


def clipped_whole(recording: Recording) -> Places | None:
    """The line that takes a norm of this rank's shards of all gradients, by which they are scaled though no other rank
    had a part in it, and the line that scales: where shards of their size are put together before the next backward."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        groups = read_process_groups(rows, interned)
        worlds = {run: len(groups[number].members) for run, number in read_groups_of_runs(rows).items()}
    walk = PartNorms({one.number: one for one in recording.flow_tensors()})
    parameters = {one.leaf: walk.size(one.number) for one in walk.tensors.values() if one.parameter and one.leaf}
    scattered, found = dict[int, int](), dict[int, Places]()  # by memory of a shard: of how many; by size of one
    for one in recording.flow():
        if one.backward is not None:
            walk.norms.clear()
            walk.shards.clear()
            scattered.clear()
            found.clear()
        elif is_collective(one.operation.name):
            if one.operation.name.startswith(GATHERS):
                told = next((found[size] for at in one.reads for size in [walk.size(at.tensor)] if size in found), None)
                if told is not None:
                    return told
            exchanged(walk, one)
            scattered |= _scattered(walk, one, worlds)
        else:
            norm = scaled_by(walk, one, several=1)
            if norm is not None and sum(scattered.values()) >= sum(parameters.values()) and is_of_all(walk, norm):
                found |= _told(walk, norm, one)
            follow(walk, one)
            _made_anew(walk, one, scattered)
    return None


def _scattered(walk: PartNorms, one: FlowOperation, worlds: Mapping[int, int]) -> dict[int, int]:
    """Note the memory of a shard that several ranks scatter, and how many numbers all of them have of it."""
    world = worlds.get(one.run, 1)
    if world < 2 or not one.operation.name.startswith(_SCATTERS):
        return {}
    shards = {walk.memory(at): walk.size(at) * world for at in one.makes}
    walk.shards |= shards.keys()
    walk.shared -= shards.keys()
    return shards


def _told(walk: PartNorms, norm: PartNorm, one: FlowOperation) -> dict[int, Places]:
    if norm.site is None or one.site is None:
        return {}
    return {walk.size(at): (norm.site, one.site) for at in norm.shards}


def _made_anew(walk: PartNorms, one: FlowOperation, scattered: dict[int, int]) -> None:
    """Note what stands for a shard from now on: a mean that is made of the sum."""
    if base_name(one.operation.name) not in _MAKES_ANEW or len(one.makes) != 1 or len(one.reads) != 1:
        return
    (read,), (made,) = one.reads, one.makes
    before, after = walk.memory(read.tensor), walk.memory(made)
    if before in walk.shards and before != after and walk.size(made) == walk.size(read.tensor):
        walk.shards -= {before}
        walk.shards |= {after}
        walk.norms.pop(after, None)
        scattered[after] = scattered.pop(before, 0)
