"""Parameters that parts of one model share: broadcast at the start, and then trained by each rank for itself.

Each rank may call its own otherwise: the embedding of the first stage is the output layer of the last one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.model.training import STEP
from gradscope.ranks.core.copies import Apart, Replicas, looks_of
from gradscope.ranks.core.known import NOISE, Ranks
from gradscope.ranks.replicas.held import call_of_optimizer
from gradscope.store.reader import Recording, load

_BROADCASTS = "c10d.broadcast_."
_MOST = 8  # ranks: a stage is asked for what it was sent


_HALF = 0.5  # of what a rank trains: more is a model that began as another one
_Names = tuple[str, ...]  # what each of some ranks calls one parameter
_Sent = dict[str, tuple[int, tuple[int, ...]]]  # by name: which of a rank's broadcasts, and the shape


@dataclass(frozen=True, slots=True)
class SentOnce:
    """The parameter, the line that steps it, whether it may be meant, and what each rank calls it."""

    apart: Apart
    site: Site | None
    is_meant: bool
    names: _Names


def sent_once(ranks: Ranks) -> Iterator[SentOnce]:
    """The first parameter that ranks broadcast before their first backward call and never exchange again. It may be
    meant where they do not send each other what parts of a model give, or where one layer began as another one."""
    if any(one.is_wrapped or one.by_hand for one in ranks.averaging.values()):
        return
    groups = {one.group.key for one in ranks.collectives if one.operator.startswith(_BROADCASTS) and one.group}
    for _, members in sorted(groups):
        if 1 < len(members) <= _MOST and _only_numbers(ranks.collectives):
            found = _apart(ranks, Replicas(members, None))
            if found is not None:
                apart, names = found
                is_one_stage = not any(one.between_two for one in ranks.collectives)
                is_meant = is_one_stage or len(set(names)) > 1
                yield SentOnce(apart, call_of_optimizer(ranks, apart, STEP), is_meant, names)


def _only_numbers(collectives: list[Collective]) -> bool:
    """Whether all that ranks meet for together, beside broadcasts, is one number."""
    together = (one for one in collectives if not one.between_two and not one.operator.startswith(_BROADCASTS))
    return all(math.prod(each.shape) == 1 for one in together for each in one.types)


def _apart(ranks: Ranks, replicas: Replicas) -> tuple[Apart, _Names] | None:
    """The first look at which one of these is not the same on all ranks, which it was at the first."""
    sent = [_sent(ranks, number) for number in replicas.members]
    exchanged = {each.shape for one in ranks.collectives if one.between_two for each in one.types}
    shared = [names for names in _shared(sent) if sent[0][names[0]][1] not in exchanged]
    equal = set[_Names]()
    for look in looks_of(ranks.weights, replicas) if shared else ():
        norms = _norms(ranks, replicas, look)
        if _began_as_another(shared, norms):
            return None
        for names in shared:
            values = [norms[at].get(name, math.nan) for at, name in zip(replicas.members, names, strict=True)]
            if max(values) - min(values) <= NOISE * max(values):
                equal.add(names)
            elif names in equal and all(map(math.isfinite, values)):
                told = tuple(sorted({f"{value:.6g}" for value in values}))
                return Apart(look, names[0], told, [*replicas.members[1:]], replicas), names
    return None


def _shared(sent: list[_Sent]) -> list[_Names]:
    """What ranks call alike; else what met in the same broadcasts, where all ranks gave parameters to these."""
    alike = sorted(set.intersection(*map(set, sent)))
    if alike:
        return [(name,) * len(sent) for name in alike]
    met = {tuple(each.values()) for each in sent}
    return list(zip(*sent, strict=True)) if len(met) == 1 else []


def _began_as_another(shared: list[_Names], norms: dict[int, dict[str, float]]) -> bool:
    """Whether what has other names on other ranks is most of what one of them trains: then nothing is tied."""
    least = min(map(len, norms.values()))
    return any(len(set(names)) > 1 for names in shared) and len(shared) > _HALF * least


def _norms(ranks: Ranks, replicas: Replicas, look: int) -> dict[int, dict[str, float]]:
    """By rank, what was measured at a look, by name: parts of a model need not have the same parameters."""
    return {
        number: {name: float(norm) for name, norm in ranks.weights.first[look, content].norms}
        for content, members in ranks.weights.ranks[look].items()
        for number in members
        if number in replicas.members
    }


def _sent(ranks: Ranks, number: int) -> _Sent:
    """The parameters that a rank broadcast before its first backward call."""
    with load(Path(ranks.rank(number).path)) as recording:
        return {ranks.own(number, name): sent for name, sent in _broadcast(recording).items()}


def _broadcast(recording: Recording) -> _Sent:
    """Nothing where something is broadcast again later, which may be copies of these."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    leaves = {one.storage: one for one in tensors.values() if one.parameter and one.leaf}
    found: _Sent = {}
    is_later, count = False, 0
    for one in recording.flow():
        is_later = is_later or one.backward is not None
        if one.operation.name.startswith(_BROADCASTS):
            count += 1
            given = [tensors[each.tensor] for each in one.reads if each.tensor in tensors]
            if is_later and any(math.prod(each.type.shape) > 1 for each in given):
                return {}
            sent = (leaves[each.storage] for each in given if each.storage in leaves)
            found |= {leaf.leaf: (count, leaf.type.shape) for leaf in sent if leaf.leaf}
    return found
