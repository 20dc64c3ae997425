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
from gradscope.ranks.gradients.part_norms import PartNorms, exchanged, follow, is_of_all, scaled_by
from gradscope.ranks.gradients.sent_parameters import SENDS, held_by, sent_by
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_reduced_leaves
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read


def clipped_owned(ranks: Ranks) -> tuple[Site, Site] | None:
    """The line that takes a norm of what one rank owns alone, by which it scales all of that, and the line that scales:
    where the optimizers of ranks hold parameters of one model that none of the others holds."""
    world = len(ranks.ranks)
    if not 1 < world <= _MOST or not any(map(_sends, ranks.collectives)):
        return None
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(one.path))) for one in ranks.ranks]
        held = [held_by(recording) for recording in recordings]
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
    return not one.inside and base_name(one.operator) in SENDS


def _is_a_module(own: Collection[str], every: Collection[str]) -> bool:
    """Whether what a rank owns is all that some module has, which may be clipped by itself on purpose."""
    levels = zip(*(name.split(".")[:-1] for name in own), strict=False)
    around = [level[0] for level in takewhile(lambda level: len(set(level)) == 1, levels)]
    return all(name in own for name in every if name.split(".")[: len(around)] == around)


def _scaled_alone(recording: Recording, own: Collection[str], every: Collection[str]) -> tuple[Site, Site] | None:
    """The same of one rank, which broadcasts what it owns, and is given by others what these own."""
    with damage_is_one_sentence(recording.path):
        reduced = read_reduced_leaves(recording.tables.rows, recording.tables.interned)
    if not sent_by(recording).keys() >= set(every):
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
            of_all = norm is not None and given >= set(every) and is_of_all(walk, norm)
            if norm is not None and of_all and norm.site is not None and one.site is not None:
                return norm.site, one.site
            follow(walk, one)
    return None


def _reduce(walk: PartNorms, one: FlowOperation, reduced: Mapping[int, set[str]], own: Collection[str]) -> set[str]:
    """Note the memory of a gradient that this rank owns, if a collective was given nothing else; which leaves it was
    given the gradients of."""
    leaves = reduced.get(one.run, set())
    if len(leaves) == 1 and len(one.reads) == 1 and leaves <= set(own):
        memory = walk.memory(one.reads[0].tensor)
        walk.shards.add(memory)
        walk.shared.discard(memory)
    return leaves
