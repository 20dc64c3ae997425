"""Joins special nodes where there are too many: those of one kind become one box of their own, which keeps the mark."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable

from gradscope.graphs.chain import join
from gradscope.model.graph import Node
from gradscope.model.reduced import PieceKind, Reduced

FEWEST_PARAMETERS = 4  # of fewer, nothing would be gained


def join_parameters(reduced: Reduced, may_join: frozenset[int]) -> Reduced:
    """Of these pieces, parameters with several users each, those that the same pieces use are one, such as all of a
    network that is called twice."""
    users: dict[int, set[int]] = defaultdict(set)
    for link in reduced.links:
        users[link.head].add(link.tail)
    alike: dict[Hashable, list[int]] = defaultdict(list)
    for place in sorted(may_join):
        alike[reduced.pieces[place].frame, frozenset(users[place])].append(place)
    return join(reduced, [places for places in alike.values() if len(places) >= FEWEST_PARAMETERS], PieceKind.ALIKE)


def join_alike(reduced: Reduced, room: int, may_join: frozenset[int], key: Callable[[Node], Hashable]) -> Reduced:
    """At most `room` of these pieces where kinds allow it: in one frame, nodes with the same key become one piece.

    The kinds with the most nodes are joined first, so that a rare one keeps boxes of its own.
    """
    left = len(may_join)
    if left <= room:
        return reduced
    kinds: dict[Hashable, list[int]] = defaultdict(list)
    for place in sorted(may_join):
        piece = reduced.pieces[place]
        kinds[piece.frame, key(piece.nodes[0])].append(place)
    joined: list[list[int]] = []
    for places in sorted(kinds.values(), key=len, reverse=True):
        if left <= room or len(places) == 1:
            break
        joined.append(places)
        left -= len(places) - 1
    return join(reduced, joined, PieceKind.ALIKE)
