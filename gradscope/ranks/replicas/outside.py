"""Parameters beside those whose gradients are averaged: equal at the start, in the same backward, and then apart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.site import Origin, Site
from gradscope.model.training import MADE
from gradscope.ranks.core.copies import Apart, Replicas, first_apart, is_averaged, looks_of, replicas_of
from gradscope.ranks.core.known import Looks, Ranks
from gradscope.ranks.replicas.held import call_of_optimizer
from gradscope.ranks.replicas.marking import left_unmarked, made_by
from gradscope.ranks.replicas.selecting import selected_at
from gradscope.store.reader import load

_MOST = 0.5  # of the parameters of a backward: else it may be a model in parts, some of which are alike


def outside(ranks: Ranks) -> Iterator[tuple[Apart, Site | None]]:
    """The first such parameter of each set of replicas, and the line that averages others, makes it or trains it."""
    for replicas in replicas_of(ranks):
        looks = looks_of(ranks.weights, replicas)
        if not looks or any(ranks.averaging[number].ignores for number in replicas.members):
            continue
        alike = _alike(ranks.weights, looks[0], replicas)
        averaged = {name for name in alike if is_averaged(ranks, replicas, name)}
        left = alike - averaged
        if len(averaged) < _MOST * len(alike) or not left:
            continue
        found = first_apart(ranks.weights, replicas, looks[1:], left.__contains__)
        if found is not None:
            yield found, _by_hand(ranks, found) or _builds(ranks, found) or call_of_optimizer(ranks, found, MADE)


def _alike(measured: Looks, look: int, replicas: Replicas) -> set[str]:
    """The parameters of a look that all ranks have alike; where the program averages, parts of a model may be zero."""
    norms = [
        set(measured.first[look, content].norms)
        for content, members in measured.ranks[look].items()
        if not set(members).isdisjoint(replicas.members)
    ]
    return {name for name, norm in set.intersection(*norms) if float(norm) or replicas.leaves is None}


def _by_hand(ranks: Ranks, found: Apart) -> Site | None:
    """The line that makes one without the mark by which others are selected, else the condition that selects, else the
    line that averages them."""
    averaged = ranks.averaging[found.members[0]].by_hand
    site = next((one.site for one in averaged if one.site is not None), None)
    if site is None:
        return None
    own = ranks.own(found.members[0], found.leaf)
    with load(Path(ranks.rank(found.members[0]).path)) as recording:
        selected = selected_at(recording, site)
        unmarked = None if selected is None else left_unmarked(recording, selected, own)
        return unmarked or selected or site


def _builds(ranks: Ranks, found: Apart) -> Site | None:
    """The line that makes what has the parameter, in the function that wraps what has the others."""
    wrapped = ranks.averaging[found.members[0]].wrapped
    if wrapped is None:
        return None
    with load(Path(ranks.rank(found.members[0]).path)) as recording:
        places = (
            site for site in made_by(recording, ranks.own(found.members[0], found.leaf)) if site.origin is Origin.USER
        )
        return next((one for one in places if one.is_in_function_of(wrapped)), None)
