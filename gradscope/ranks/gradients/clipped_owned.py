"""Gradients that are reduced to the rank that owns a parameter, which scales those of its own by their norm alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path

from gradscope.model.flow import FlowOperation
from gradscope.model.operation import base_name
from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.part_norms import PartNorm, PartNorms, exchanged, follow, scaled_by
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_reduced_leaves
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read
_SENDS = ("broadcast_", "broadcast")


def clipped_owned(ranks: Ranks) -> tuple[Site, Site] | None:
    """The line that takes a norm of what one rank owns alone, by which it scales all of that, and the line that scales:
    where the optimizers of ranks hold parameters of one model that none of the others holds."""
    world = len(ranks.ranks)
    if not 1 < world <= _MOST or not any(map(_sends, ranks.collectives)):
        return None
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(one.path))) for one in ranks.ranks]
        held = [_held(recording) for recording in recordings]
        every = set[str]().union(*held)
        if not all(held) or sum(map(len, held)) != len(every):
            return None
        found = (
            _scaled_alone(recording, own, every)
            for recording, own in zip(recordings, held, strict=True)
            if not _is_a_module(own, every)
        )
        return next(filter(None, found), None)


def _sends(one: Collective) -> bool:
    return not one.inside and base_name(one.operator) in _SENDS


def _held(recording: Recording) -> set[str]:
    """The parameters that optimizers of a rank hold."""
    return {each.name for look in recording.optimizer_looks() for each in look.parameters}


def _is_a_module(own: Collection[str], every: Collection[str]) -> bool:
    """Whether what a rank owns is all that some module has, which may be clipped by itself on purpose."""
    levels = zip(*(name.split(".")[:-1] for name in own), strict=False)
    around = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    return all(name in own for name in every if name.split(".")[: len(around)] == around)


def _scaled_alone(recording: Recording, own: Collection[str], every: Collection[str]) -> tuple[Site, Site] | None:
    """The same of one rank, which broadcasts what it owns, and is given by others what these own."""
    with damage_is_one_sentence(recording.path):
        reduced = read_reduced_leaves(recording.tables.rows, recording.tables.interned)
    if not _sent(recording) >= set(every):
        return None
    walk = PartNorms({one.number: one for one in recording.flow_tensors()})
    given: set[str] = set()  # whose gradients were reduced since the last backward call
    for one in recording.flow():
        if one.backward is not None:
            given.clear()
            walk.norms.clear()
            walk.shards.clear()
            walk.shared |= {walk.memory(at) for at in one.makes}  # gradients of what others own are among it
        elif is_collective(one.operation.name):
            exchanged(walk, one)
            given |= _reduce(walk, one, reduced, own)
        else:
            norm = scaled_by(walk, one)
            of_all = norm is not None and given >= set(every) and _is_of_all(walk, norm)
            if norm is not None and of_all and norm.site is not None and one.site is not None:
                return norm.site, one.site
            follow(walk, one)
    return None


def _sent(recording: Recording) -> set[str]:
    """The parameters that are broadcast after a backward call."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    names = {one.storage: one.leaf for one in tensors.values() if one.parameter and one.leaf is not None}
    found: set[str] = set()
    begun = False
    for one in recording.flow():
        begun = begun or one.backward is not None
        if begun and is_collective(one.operation.name) and base_name(one.operation.name) in _SENDS:
            storages = (tensors[each.tensor].storage for each in one.reads if each.tensor in tensors)
            found |= {names[storage] for storage in storages if storage in names}
    return found


def _reduce(walk: PartNorms, one: FlowOperation, reduced: Mapping[int, set[str]], own: Collection[str]) -> set[str]:
    """Note the memory of a gradient that this rank owns, if a collective was given nothing else; which leaves it was
    given the gradients of."""
    leaves = reduced.get(one.run, set())
    if len(leaves) == 1 and len(one.reads) == 1 and leaves <= set(own):
        memory = walk.memory(one.reads[0].tensor)
        walk.shards.add(memory)
        walk.shared.discard(memory)
    return leaves


def _is_of_all(walk: PartNorms, norm: PartNorm) -> bool:
    """Whether a norm is that of all gradients which this rank owns."""
    return {walk.memory(at) for at in norm.shards} == walk.shards
