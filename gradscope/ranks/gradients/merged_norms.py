"""Norms of what each rank owns that ranks put together by their greatest or their sum, and scale by as if it were that
of all: this is the root of the sum of their squares, which is greater than any, and smaller than their sum."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation, FlowTensor
from gradscope.model.operation import base_name
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.norm_values import NORMS, NormValue, computed, measured
from gradscope.ranks.source.squares import takes_a_root_of_squares
from gradscope.ranks.source.ways import is_collective
from gradscope.store.collective_reader import read_reduced_leaves
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read
_GATHERS = frozenset(("allgather_", "_allgather_base_", "all_gather_into_tensor", "allgather_into_tensor_coalesced_"))
_SUMS = frozenset(("allreduce_", "all_reduce"))
_WAITS = "wait_tensor"
_SCALES = frozenset(("mul_", "div_", "_foreach_mul_", "_foreach_div_"))


@dataclass(slots=True)
class _Walk:
    """By memory: what is known of numbers since the last backward call; `own` are the gradients that a rank owns, and
    `given` the parameters whose gradients were reduced."""

    tensors: dict[int, FlowTensor]
    reduced: Mapping[int, set[str]]
    values: dict[int, NormValue] = field(default_factory=dict)
    own: set[int] = field(default_factory=set)
    given: set[str] = field(default_factory=set)

    def memory(self, tensors: Iterator[int]) -> list[int]:
        """That of some tensors, in order."""
        return [self.tensors[at].storage for at in tensors if at in self.tensors]


def merged_norms(ranks: Ranks) -> Iterator[Blame]:
    """The first line that makes such a number, of the first rank that scales all that it owns by it."""
    if not 1 < len(ranks.ranks) <= _MOST or not ranks.collectives:
        return
    with ExitStack() as files:
        recordings = [files.enter_context(load(Path(one.path))) for one in ranks.ranks]
        held = [_held(recording) for recording in recordings]
        every = set[str]().union(*held)
        if not all(held) or sum(map(len, held)) != len(every):
            return
        sides = zip(recordings, held, strict=True)
        found = next(filter(None, (_scaled(recording, own, every) for recording, own in sides)), None)
    if found is not None:
        yield Blame(
            "ranks put the norms of what each owns together otherwise than by the root of the sum of their squares, "
            "and scale their gradients by that: it is not the norm of all",
            found[0],
            (Related("cause_at", found[1], "where a rank scales what it owns"),),
            certain=False,
        )


def _held(recording: Recording) -> set[str]:
    """The parameters that optimizers of a rank hold."""
    return {each.name for look in recording.optimizer_looks() for each in look.parameters}


def _scaled(recording: Recording, own: Collection[str], every: Collection[str]) -> tuple[Site, Site] | None:
    """The line that makes what a rank scales all that it owns by, where that is no norm, and the line that scales."""
    with damage_is_one_sentence(recording.path):
        reduced = read_reduced_leaves(recording.tables.rows, recording.tables.interned)
    walk = _Walk({one.number: one for one in recording.flow_tensors()}, reduced)
    for one in recording.flow():
        reads, makes = walk.memory(each.tensor for each in one.reads), walk.memory(iter(one.makes))
        if one.backward is not None:
            walk.values.clear()
            walk.own.clear()
            walk.given.clear()
        elif is_collective(one.operation.name):
            _meet(walk, one, reads, makes, own)
        else:
            by = _by(walk, one, reads, makes)
            is_of_all = by is not None and by.of == walk.own and walk.given >= set(every)
            if by is not None and is_of_all and by.merged is not None and one.site is not None:
                of_squares = all(takes_a_root_of_squares(recording, site) for site in by.sites)
                return (by.merged, one.site) if of_squares and by.sites else None
            _compute(walk, one, reads, makes)
    return None


def _meet(walk: _Walk, one: FlowOperation, reads: list[int], makes: list[int], own: Collection[str]) -> None:
    """Note gradients that this rank owns, norms that are gathered, and what is made of norms at once."""
    name, values = base_name(one.operation.name), [walk.values[each] for each in reads if each in walk.values]
    leaves = walk.reduced.get(one.run, set())
    walk.given |= leaves
    if len(leaves) == 1 and len(reads) == 1 and leaves <= set(own):
        walk.own.add(reads[0])
    if name != _WAITS:
        for each in (*reads, *makes):
            walk.values.pop(each, None)
        values = [value for value in values if value.is_root and value.merged is None and not value.gathered]
        values = [value.met(gathered=name in _GATHERS, site=one.site) for value in values if name in _GATHERS | _SUMS]
    if len(values) == 1:
        walk.values.update(dict.fromkeys(makes, values[0]))


def _by(walk: _Walk, one: FlowOperation, reads: list[int], makes: list[int]) -> NormValue | None:
    """By what an operator scales gradients that this rank owns, in place."""
    if base_name(one.operation.name) not in _SCALES:
        return None
    written = set(makes) or set(reads) & walk.own  # an operator on lists makes nothing
    if not written or not written <= walk.own:
        return None
    return next((walk.values[each] for each in reads if each not in written and each in walk.values), None)


def _compute(walk: _Walk, one: FlowOperation, reads: list[int], makes: list[int]) -> None:
    """Note norms of gradients, and what is computed of them."""
    name = base_name(one.operation.name)
    if reads and walk.own.issuperset(reads):
        in_list = name in NORMS and len(makes) == len(reads)
        for at, made in enumerate(makes):
            of = frozenset([reads[at]] if in_list else reads)
            value = None if made in walk.own else measured(name, of, len(reads), one.site)
            _keep(walk, made, value)
        return
    given = [each for each in reads if each not in makes or each in walk.values]  # else it is filled, or added to
    known = [walk.values[each] for each in given if each in walk.values]
    value = computed(name, known, len(known) == len(given), one.site)
    for made in makes:
        _keep(walk, made, value)


def _keep(walk: _Walk, made: int, value: NormValue | None) -> None:
    if value is None:
        walk.values.pop(made, None)
    else:
        walk.values[made] = value
