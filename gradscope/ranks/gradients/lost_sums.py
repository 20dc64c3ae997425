"""Gradients that a program sums by hand, and whose sum is lost to a rank: copies that it does not read again, or a
sum that one rank alone is given."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.averaging import GroupKey
from gradscope.model.site import Site
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.unread import reduced_to_one, unread_sums
from gradscope.store.reader import Recording, load

_ROUNDS = 2  # at least, in which a sum is lost: what comes after the last one may not be recorded
_METHODS = ("c10d.allreduce_.", "c10d.reduce_.")
_COPIES = "the sum of gradients over the ranks is a copy that nothing reads, so that each rank steps by its own"
_ONE = "reduce() gives the sum of gradients to one rank alone, and the others step by what they have"


@dataclass(frozen=True, slots=True)
class LostSum:
    """Why, the line to edit, that of the collective, and the parameter that is not the same any more."""

    why: str
    site: Site
    meets: Site
    apart: Apart


def lost_sums(ranks: Ranks) -> Iterator[LostSum]:
    """The first such sum, of ranks whose parameters were equal at first, and which average no gradient otherwise."""
    told = ranks.averaging.values()
    groups = _groups(ranks)
    if len(ranks.ranks) < 2 or not groups or any(one.is_wrapped or one.by_hand for one in told):
        return
    with ExitStack() as files:
        here, there = (files.enter_context(load(Path(one.path))) for one in ranks.ranks[:2])
        why, site, meets = _lost(here) or ("", None, None)
        found = None if meets is None else _lost(there)
    if site is None or meets is None or found is None or str(found[2]) != str(meets):
        return
    for key in groups.get(str(meets), ()):
        apart = _apart(ranks, key)
        if apart is not None:
            yield LostSum(why, site, meets, apart)
            return


def _groups(ranks: Ranks) -> dict[str, list[GroupKey]]:
    """By line, the groups in which several ranks sum outside of backward calls."""
    found: dict[str, list[GroupKey]] = {}
    for one in ranks.collectives:
        several = one.group is not None and len(one.group.members) > 1
        if several and not one.inside and one.group is not None and one.operator.startswith(_METHODS):
            found.setdefault(str(one.site), []).append(one.group.key)
    return found


def _lost(recording: Recording) -> tuple[str, Site, Site] | None:
    sums = unread_sums(recording)
    if len(sums) >= _ROUNDS:
        return _COPIES, sums[-1].last, sums[-1].meets
    one = reduced_to_one(recording)
    return None if one is None else (_ONE, one, one)


def _apart(ranks: Ranks, key: GroupKey) -> Apart | None:
    """The first look at which replicas are apart that were equal at the first one."""
    replicas = Replicas(key[1], key)
    looks = looks_of(ranks.weights, replicas)
    if first_apart(ranks.weights, replicas, looks[:1], bool) is not None:
        return None
    return first_apart(ranks.weights, replicas, looks[1:], bool)
