"""Sums of gradients that ranks take by hand in a loop, and that are given one parameter's by a rank, another's by the
other: each leaves others out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.averaging import GroupKey
from gradscope.model.rank import Rank
from gradscope.model.site import Site, Stack, user_site
from gradscope.ranks.core.copies import Apart, replicas_of
from gradscope.ranks.core.known import Ranks, Told
from gradscope.ranks.gradients.scaled import Side
from gradscope.ranks.meeting.skipping import left_out_by
from gradscope.ranks.source.set_orders import BY_A_SET, goes_by_a_set
from gradscope.store.collective_reader import (
    read_groups_of_runs,
    read_moments,
    read_process_groups,
    read_reduced_leaves,
    read_runs,
)
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load

_Place = tuple[GroupKey, int]  # a group, and how many times it met before


@dataclass(frozen=True, slots=True)
class _Given:
    """The one leaf whose gradient a collective was given, as all ranks call it, on the way to which backward call, and
    its stack."""

    leaf: str
    before: int
    stack: Stack


@dataclass(frozen=True, slots=True)
class Crossing:
    """A sum of gradients of two leaves, on the way to a backward call, why, its line, and the condition by which what
    comes to it is chosen, where each rank leaves others out, or the line that goes by the order of a set."""

    leaves: frozenset[str]
    before: int
    why: str
    site: Site
    chosen: Site | None


def crossed_before(ranks: Ranks, odd: Side, other: Side, found: Apart) -> Told | None:
    """Why ranks sum the gradients of different parameters, before the look at which they are apart, and the line."""
    crossing = _crossing(ranks, odd, other)
    if crossing is None or crossing.before > found.backward:
        return None
    return crossing.why, crossing.chosen or crossing.site


def crossed_sums(ranks: Ranks) -> Iterator[Crossing]:
    """The same, where nothing could be compared: each rank has summed the gradients of both parameters in one group,
    and a condition leaves some out, or a set has them in another order."""
    for replicas in replicas_of(ranks):
        both = [ranks.rank(number) for number in replicas.members[:2]] if replicas.leaves is not None else []
        with ExitStack() as files:
            sides = [(one, files.enter_context(load(Path(one.path)))) for one in both]
            found = _crossing(ranks, *sides) if sides else None
        if found is not None and found.chosen is not None and found.leaves <= (replicas.leaves or frozenset()):
            yield found


def _crossing(ranks: Ranks, odd: Side, other: Side) -> Crossing | None:
    """The first sum that is given the gradients of different parameters by two ranks."""
    (one, here), (two, _) = odd, other
    ours, theirs = dict(_sums(ranks, *odd)), dict(_sums(ranks, *other))
    places = (place for place in ours if place in theirs and ours[place].leaf != theirs[place].leaf)
    place = next(places, None)
    if place is None:
        return None
    first, second = ours[place], theirs[place]
    site = user_site(first.stack)
    if site is None or str(site) != str(user_site(second.stack)):
        return None
    leaves_out = _round(ours, first.before) != _round(theirs, second.before)
    chosen = left_out_by(here, first.stack) if leaves_out else goes_by_a_set(here, first.stack)
    pair = f"the gradient of {first.leaf} on rank {one.rank} with that of {second.leaf} on rank {two.rank}"
    words = "as each leaves others out" if leaves_out else BY_A_SET
    why = f"line {site.line} sums {pair}{f', {words}' if chosen is not None else ''}"
    return Crossing(frozenset((first.leaf, second.leaf)), first.before, why, site, chosen)


def _round(given: dict[_Place, _Given], before: int) -> set[str]:
    """The leaves whose gradients were summed on the way to a backward call."""
    return {each.leaf for each in given.values() if each.before == before}


def _sums(ranks: Ranks, rank: Rank, recording: Recording) -> Iterator[tuple[_Place, _Given]]:
    """The collectives that were given the gradient of one leaf alone, in their order, by their place in a group."""
    with damage_is_one_sentence(recording.path):
        rows, interned = recording.tables.rows, recording.tables.interned
        leaves, groups = read_reduced_leaves(rows, interned), read_process_groups(rows, interned)
        of_runs, moments = read_groups_of_runs(rows), read_moments(rows, set(leaves))
        for _, run, _, sequence, _, stack in read_runs(rows):
            given = leaves.get(run, set())
            if len(given) == 1 and sequence is not None:
                place = groups[of_runs[run]].key, sequence
                yield place, _Given(ranks.own(rank.rank, min(given)), moments[run][0], interned.stack(stack))
