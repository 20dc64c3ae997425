"""Learning rates that ranks come to have of their own after the last look at their weights: copies whose gradients are
averaged part by the next step, which nobody measures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.training import STEP
from gradscope.ranks.core.copies import Replicas, looks_of, replicas_of
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.replicas.rates import unlike_rates
from gradscope.store.reader import Recording, load

_MOST = 8  # ranks: each is read


def late_rates(ranks: Ranks) -> Iterator[Told]:
    """The first rate that one of such copies is stepped with and another is not, and the line."""
    for replicas in replicas_of(ranks):
        looks = looks_of(ranks.weights, replicas)
        first, *others = replicas.members[:_MOST]
        for other in others if looks and _are_equal(ranks, replicas, looks) else ():
            with load(Path(ranks.rank(first).path)) as here, load(Path(ranks.rank(other).path)) as there:
                found = unlike_rates(there, here) if _are_of_one(here, there, looks[-1]) else None
            if found is not None:
                yield found
                return


def _are_equal(ranks: Ranks, replicas: Replicas, looks: list[int]) -> bool:
    """Whether copies had the same weights at each look: all that they have."""
    return all(
        sum(not set(members).isdisjoint(replicas.members) for members in ranks.weights.ranks[look].values()) == 1
        for look in looks
    )


def _are_of_one(here: Recording, there: Recording, look: int) -> bool:
    """Whether each rank has one optimizer, which began with the same rates, and took other ones only after a look."""
    rates = [{(one.count, one.group): one.value for one in each.learning_rates()} for each in (here, there)]
    alone = all(len({one.optimizer for one in each.learning_rates()}) == 1 for each in (here, there))
    as_many = len(here.backwards()) == len(there.backwards())
    unlike = [key[0] for key in rates[0].keys() | rates[1].keys() if rates[0].get(key) != rates[1].get(key)]
    return alone and as_many and bool(unlike) and min(unlike) > max(_steps(each, look) for each in (here, there))


def _steps(recording: Recording, look: int) -> int:
    """How many steps a rank had made before it was looked at, the first at least."""
    before = (one for one in recording.intervals() if one.backward is not None and one.backward < look)
    return max(sum(call.kind is STEP for one in before for call in one.calls), 1)
