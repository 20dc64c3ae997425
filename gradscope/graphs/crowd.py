"""Joins neighbours where too many stand beside each other: a fan of 2,000 nodes, the updates of 74 parameters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from itertools import groupby
from math import ceil

from gradscope.graphs.chain import join
from gradscope.graphs.fold import structures
from gradscope.model.reduced import PieceKind, Reduced

LONG_RUN = 8
CROWDS = 40
FEWEST_TWINS = 4  # of one kind or of one line: of fewer, nothing would be gained


def join_crowds(reduced: Reduced, most: int, may_join: frozenset[int]) -> Reduced:
    """At most about `most` pieces: in the frames with the most, neighbours in backward order become one piece.

    Where that must be, a few dozen say as much as a hundred, and fit on a page.
    """
    if len(reduced.pieces) <= most:
        return reduced
    inside: dict[int | None, list[int]] = defaultdict(list)
    for number, piece in enumerate(reduced.pieces):
        inside[piece.frame].append(number)
    limit = _limit([len(places) for places in inside.values()], most)
    runs = [
        run for places in inside.values() if len(places) > limit for run in _runs(places, min(limit, CROWDS), may_join)
    ]
    return join(reduced, runs, PieceKind.CROWD)


def join_runs(reduced: Reduced, may_join: frozenset[int]) -> Reduced:
    """What stands between module calls and is long, such as an optimizer's arithmetic, as one piece each time.

    Where there are no calls there is nothing that it stands between, and it is left to `join_crowds`.
    """
    inside: dict[int | None, list[int]] = defaultdict(list)
    called = {frame.around for frame in reduced.frames}
    for number, piece in enumerate(reduced.pieces):
        inside[piece.frame].append(number)
        if piece.kind in (PieceKind.GROUP, PieceKind.REPEAT):
            called.add(piece.frame)
    runs: list[list[int]] = []
    for frame in called:
        numbered = enumerate(inside[frame])  # an open frame between two pieces makes a gap in their numbers
        for (joins, _), run in groupby(numbered, key=lambda one: (one[1] in may_join, one[1] - one[0])):
            found = [place for _, place in run]
            if joins and len(found) > LONG_RUN:
                runs.append(found)
    return join(reduced, runs, PieceKind.CROWD)


def join_rows(reduced: Reduced, may_join: frozenset[int]) -> Reduced:
    """Nodes of one operator and line, such as an update of every parameter in a list, as one piece each time.

    None of them leads to another without a call of a module, or what else may not join, in between.
    """
    steps = _steps(reduced, may_join)
    inside: dict[int | None, list[int]] = defaultdict(list)
    for number, piece in enumerate(reduced.pieces):
        inside[piece.frame].append(number)
    rows: list[list[int]] = []
    for places in inside.values():
        for (joins, _), run in groupby(enumerate(places), key=lambda one: (one[1] in may_join, one[1] - one[0])):
            alike: dict[Hashable, list[int]] = defaultdict(list)
            for _, place in run if joins else ():
                node = reduced.pieces[place].nodes[0]
                alike[node.name, node.op, node.site, steps[place]].append(place)
            rows += [row for row in alike.values() if len(row) >= FEWEST_TWINS]
    return join(reduced, rows, PieceKind.CROWD)


def _steps(reduced: Reduced, among: frozenset[int]) -> list[int]:
    """The longest way to each piece that goes through such pieces of its frame only."""
    found = [0] * len(reduced.pieces)
    for link in sorted(reduced.links, key=lambda link: link.tail):  # pieces stand in backward order
        beside = reduced.pieces[link.tail].frame == reduced.pieces[link.head].frame
        if beside and link.tail in among and link.head in among:
            found[link.head] = max(found[link.head], found[link.tail] + 1)
    return found


def join_twins(reduced: Reduced, may_join: frozenset[int]) -> Reduced:
    """Single nodes of one kind between the same neighbours: the first, the last, and all between as one piece."""
    beside: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for link in reduced.links:
        beside[link.tail][1].append(link.head)
        beside[link.head][0].append(link.tail)
    alike: dict[Hashable, list[int]] = defaultdict(list)
    single = [place for place in sorted(may_join) if reduced.pieces[place].kind is PieceKind.NODE]
    for place, structure in zip(single, structures([reduced.pieces[one].nodes[0] for one in single]), strict=True):
        piece, (tails, heads) = reduced.pieces[place], beside[place]
        key = (piece.frame, structure, len(piece.leaves), len(piece.views), frozenset(tails), frozenset(heads))
        alike[key].append(place)
    return join(reduced, [run[1:-1] for run in alike.values() if len(run) >= FEWEST_TWINS], PieceKind.CROWD)


def _limit(sizes: list[int], most: int) -> int:
    """The greatest size of a frame with which all frames together hold at most `most` pieces."""
    left, waiting = most, sorted(sizes)
    for done, size in enumerate(waiting):
        share = left // (len(waiting) - done)
        if size > share:
            return max(share, 2)
        left -= size
    return most


def _runs(places: list[int], limit: int, may_join: frozenset[int]) -> list[list[int]]:
    """Neighbours, as few together as bring a frame down to the limit."""
    length = ceil(len(places) / limit)
    runs = []
    for joins, run in groupby(places, key=may_join.__contains__):
        found = list(run)
        if joins:
            runs += [found[at : at + length] for at in range(0, len(found), length)]
    return [run for run in runs if len(run) > 1]
