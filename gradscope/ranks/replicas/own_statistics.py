"""Running statistics in buffers, by which each rank normalises its samples and which it makes of these alone: the model
takes equal steps on all ranks, and is another function on each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import prod
from pathlib import Path

from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.replicas.kept_buffers import norms_at, stay_apart, weights_part
from gradscope.ranks.replicas.normalising import Normalising, normalising
from gradscope.ranks.source.buffer_writes import written_with
from gradscope.ranks.source.sending import sent_outside
from gradscope.store.reader import Recording, load

_LOOKS = 4
_BARRIER = "barrier"
_SHOWN = 2  # backward calls after which the way of tensors is known, and so what is sent in a step

_Sent = Counter[tuple[str, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class OwnStatistics:
    """A buffer that is not the same on all ranks, the line that makes what goes into it, and that which normalises by
    it."""

    found: Apart
    site: Site
    divides: Site


def own_statistics(ranks: Ranks, replicas: Replicas) -> OwnStatistics | None:
    """The first such buffer that stays apart at all looks, while all weights are equal."""
    looks = looks_of(ranks.buffers, replicas)
    norms = [norms_at(ranks.buffers, replicas, look) for look in looks]
    apart = stay_apart(norms) if len(looks) >= _LOOKS else set()
    found = first_apart(ranks.buffers, replicas, looks, apart.__contains__)
    if found is None or weights_part(ranks, found):
        return None
    told = _normalised_alone(ranks, replicas, apart)
    if told is None:
        return None
    used, site = told
    found = first_apart(ranks.buffers, replicas, looks, used.buffers.__contains__) or found
    return OwnStatistics(found, site, used.divides)


def _normalised_alone(ranks: Ranks, replicas: Replicas, apart: set[str]) -> tuple[Normalising, Site] | None:
    """What the last rank normalises by some of these buffers, and the line that makes what goes into them, where it
    sends no more in any step than in the first ones, which show that these are not sent."""
    number = replicas.members[-1]
    with load(Path(ranks.rank(number).path)) as recording:
        names = {name for values in ranks.buffers.first.values() for name, _ in values.norms}
        used = normalising(recording, names)
        if used is None or used.buffers.isdisjoint(apart) or sends_more(recording, used.largest):
            return None
        site = written_with(recording, used.buffers, anywhere=True) or used.writes
        return used, site


def sends_more(recording: Recording, largest: int) -> bool:
    """Whether a rank sends something in a later step that it does not in the first ones; what is no barrier, nor a
    single number to show."""
    by_step: dict[int, _Sent] = {}
    for step, one in sent_outside(recording):
        if step > 0 and not _is_of_no_buffer(one, largest):
            by_step.setdefault(step, Counter())[str(one.site), tuple(map(str, one.types))] += 1
    shown = [by_step.pop(step, _Sent()) for step in range(1, _SHOWN + 1)]
    usual = shown[0] | shown[1]
    return any(sent - usual for sent in by_step.values())


def _is_of_no_buffer(one: Collective, largest: int) -> bool:
    return one.name == _BARRIER or sum(prod(each.shape) for each in one.types) <= 1 < largest
