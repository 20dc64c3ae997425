"""Copies of a model that nobody is known to average, and yet stayed equal while other losses trained them: this is what
averaging does, in whatever form a program writes it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from gradscope.ranks.core.copies import Apart, Replicas, first_apart, looks_of, values_at
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.replicas.drifting import left_apart
from gradscope.ranks.replicas.unexchanged import stepped_unexchanged
from gradscope.store.reader import load

_ENOUGH = 3  # values that a parameter had on all ranks, one after the other
_AS_OFTEN = 0.6  # an epoch may end with steps that need fewer
_MOST = 64  # ranks: all have to be the same at each look


def parted_later(ranks: Ranks) -> Iterator[tuple[Apart, Told]]:
    """The first parameter that is not the same on all ranks any more, and why: told only where that is known."""
    for replicas, equal in _kept_equal(ranks):
        looks = [look for look in looks_of(ranks.weights, replicas) if look > equal]
        leaves = replicas.leaves or frozenset()
        found = first_apart(ranks.weights, replicas, looks, leaves.__contains__)
        if found is None or not _meet_as_before(ranks, found, equal):
            continue
        told = left_apart(ranks, found) or _unexchanged(ranks, found, equal)
        if told is not None:
            yield found, told


def _kept_equal(ranks: Ranks) -> Iterator[tuple[Replicas, int]]:
    """All ranks, with the parameters that changed and were equal up to a look, at which their losses were not."""
    if any(one.is_wrapped or one.by_hand or one.in_hooks or one.derived for one in ranks.averaging.values()):
        return
    members = tuple(one.rank for one in ranks.ranks)
    keys = {one.group.key for one in ranks.collectives if one.group is not None and not one.between_two}
    keys = {key for key in keys if set(key[1]) == set(members)}
    if len(keys) != 1 or not 1 < len(members) <= _MOST:
        return
    every = Replicas(members, keys.pop())
    looks = list(takewhile(lambda look: len(ranks.weights.ranks[look]) == 1, looks_of(ranks.weights, every)))
    if not looks or not all(_have_own_losses(ranks, members, look) for look in looks):
        return
    trained = [name for name, norms in values_at(ranks.weights, looks).items() if len(norms) >= _ENOUGH]
    if trained:
        yield Replicas(members, every.group, frozenset(trained)), looks[-1]


def _have_own_losses(ranks: Ranks, members: tuple[int, ...], look: int) -> bool:
    of_each = {number: dict(losses).get(look) for losses, numbers in ranks.losses.items() for number in numbers}
    known = [of_each.get(number) for number in members]
    return None not in known and len(set(known)) > 1


def _meet_as_before(ranks: Ranks, found: Apart, equal: int) -> bool:
    """Whether ranks met about as often after a look as before: else they were to go on by themselves."""
    key, number = found.replicas.group, found.members[0]
    if key is None:
        return False
    met = {look: ranks.weights.met[number, look].get(key, 0) for look in (equal, found.backward)}
    since = (met[found.backward] - met[equal]) / (found.backward - equal)
    return since >= _AS_OFTEN * met[equal] / max(equal, 1)


def _unexchanged(ranks: Ranks, found: Apart, equal: int) -> Told | None:
    """Why, and the line: of a step before which nobody gave others what was given before each earlier one."""
    told = []
    for number in (found.odd[0], next(one for one in found.members if one not in found.odd)):
        with load(Path(ranks.rank(number).path)) as recording:
            told.append(stepped_unexchanged(recording, ranks.own(number, found.leaf), equal, found.backward))
    return told[0] if told[0] is not None and told[0] == told[1] else None
