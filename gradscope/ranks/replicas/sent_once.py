"""Parameters that parts of one model share: broadcast at the start, and then trained by each rank for itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
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


def sent_once(ranks: Ranks) -> Iterator[tuple[Apart, Site | None, bool]]:
    """The first parameter that ranks broadcast before their first backward call and never exchange again, the line that
    steps it, and whether it may be meant: where they do not send each other what parts of a model give."""
    if any(one.is_wrapped or one.by_hand for one in ranks.averaging.values()):
        return
    groups = {one.group.key for one in ranks.collectives if one.operator.startswith(_BROADCASTS) and one.group}
    for _, members in sorted(groups):
        if 1 < len(members) <= _MOST and _only_numbers(ranks.collectives):
            found = _apart(ranks, Replicas(members, None))
            if found is not None:
                is_meant = not any(one.between_two for one in ranks.collectives)
                yield found, call_of_optimizer(ranks, found, STEP), is_meant


def _only_numbers(collectives: list[Collective]) -> bool:
    """Whether all that ranks meet for together, beside broadcasts, is one number."""
    together = (one for one in collectives if not one.between_two and not one.operator.startswith(_BROADCASTS))
    return all(math.prod(each.shape) == 1 for one in together for each in one.types)


def _apart(ranks: Ranks, replicas: Replicas) -> Apart | None:
    """The first look at which one of these is not the same on all ranks, which it was at the first."""
    sent = [_sent(ranks, number) for number in replicas.members]
    exchanged = {each.shape for one in ranks.collectives if one.between_two for each in one.types}
    shared = {name for name in set.intersection(*map(set, sent)) if sent[0][name] not in exchanged}
    equal = set[str]()
    for look in looks_of(ranks.weights, replicas) if shared else ():
        norms = _norms(ranks, replicas, look)
        for name in sorted(shared):
            values = [each.get(name, math.nan) for each in norms.values()]
            if max(values) - min(values) <= NOISE * max(values):
                equal.add(name)
            elif name in equal and all(map(math.isfinite, values)):
                told = tuple(sorted({f"{value:.6g}" for value in values}))
                return Apart(look, name, told, [*replicas.members[1:]], replicas)
    return None


def _norms(ranks: Ranks, replicas: Replicas, look: int) -> dict[int, dict[str, float]]:
    """By rank, what was measured at a look, by name: parts of a model need not have the same parameters."""
    return {
        number: {name: float(norm) for name, norm in ranks.weights.first[look, content].norms}
        for content, members in ranks.weights.ranks[look].items()
        for number in members
        if number in replicas.members
    }


def _sent(ranks: Ranks, number: int) -> dict[str, tuple[int, ...]]:
    """The shapes of the parameters that a rank broadcast before its first backward call, by name."""
    with load(Path(ranks.rank(number).path)) as recording:
        return {ranks.own(number, name): shape for name, shape in _broadcast(recording).items()}


def _broadcast(recording: Recording) -> dict[str, tuple[int, ...]]:
    """Nothing where something is broadcast again later, which may be copies of these."""
    tensors = {one.number: one for one in recording.flow_tensors()}
    leaves = {one.storage: one for one in tensors.values() if one.parameter and one.leaf}
    found: dict[str, tuple[int, ...]] = {}
    is_later = False
    for one in recording.flow():
        is_later = is_later or one.backward is not None
        if one.operation.name.startswith(_BROADCASTS):
            given = [tensors[each.tensor] for each in one.reads if each.tensor in tensors]
            if is_later and any(math.prod(each.type.shape) > 1 for each in given):
                return {}
            sent = (leaves[each.storage] for each in given if each.storage in leaves)
            found |= {leaf.leaf: leaf.type.shape for leaf in sent if leaf.leaf}
    return found
