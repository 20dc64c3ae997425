"""Buffers that ranks keep equal by what they exchange, without a wrapper, until one puts in what it has by itself."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import NOISE, Looks, Ranks
from gradscope.ranks.source.parting_writes import parted_at
from gradscope.store.reader import load

_MOVED = 2  # looks at which a buffer is another than at first, and the same on all ranks

_Norms = dict[str, list[float]]  # of a look, by name


def parted(ranks: Ranks, replicas: Replicas) -> tuple[Apart, Site] | None:
    """A buffer that was written and still the same on all ranks, and is not any more, though their weights are; and
    the line that parts it."""
    looks = looks_of(ranks.buffers, replicas)
    norms = [norms_at(ranks.buffers, replicas, look) for look in looks]
    for at in range(_MOVED + 1, len(looks)):
        for name in sorted(_kept(norms[:at]) & stay_apart(norms[at:])):
            found = first_apart(ranks.buffers, replicas, looks[at : at + 1], name.__eq__)
            if found is None or weights_part(ranks, found):
                continue
            with load(Path(ranks.rank(found.odd[0]).path)) as recording:
                site = parted_at(recording, name, (looks[at - 1], looks[at]))
            if site is not None:
                return found, site
    return None


def weights_part(ranks: Ranks, found: Apart) -> bool:
    """Whether any weight is not the same on all ranks by then: buffers may follow it."""
    looks = [look for look in looks_of(ranks.weights, found.replicas) if look <= found.backward]
    return not looks or first_apart(ranks.weights, found.replicas, looks, lambda leaf: True) is not None


def norms_at(measured: Looks, replicas: Replicas, look: int) -> _Norms:
    """What each of the ranks has at a look."""
    found: _Norms = defaultdict(list)
    for content, members in measured.ranks[look].items():
        if not set(members).isdisjoint(replicas.members):
            for name, norm in measured.first[look, content].norms:
                found[name].append(float(norm))
    return found


def _kept(norms: list[_Norms]) -> set[str]:
    """The buffers that are the same on all ranks at each look, and at some another than at the first."""
    found = set()
    for name, first in norms[0].items():
        all_equal = all(_are_equal(each.get(name, [])) for each in norms)
        if all_equal and sum(not _are_equal([first[0], *each[name]]) for each in norms) >= _MOVED:
            found.add(name)
    return found


def stay_apart(norms: list[_Norms]) -> set[str]:
    """The buffers that are not the same on all ranks at any look."""
    return {name for name in norms[0] if not any(_are_equal(each.get(name, [])) for each in norms)}


def _are_equal(values: list[float]) -> bool:
    return bool(values) and max(values) - min(values) <= NOISE * max(values)
