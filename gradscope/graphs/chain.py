"""Joins chains: what no module groups and nothing branches from is one piece, however long."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradscope.model.reduced import Link, Piece, PieceKind, Reduced


def join_chains(reduced: Reduced, may_join: frozenset[int]) -> Reduced:
    """The pieces with every chain of single nodes (one link in, one out, in one frame) as one piece."""
    nodes = frozenset(place for place in may_join if reduced.pieces[place].kind is PieceKind.NODE)
    follower = _followers(reduced, nodes)
    followed = set(follower.values())
    chains = [_chain(piece, follower) for piece in follower if piece not in followed]
    return join(reduced, chains, PieceKind.CHAIN)


def join(reduced: Reduced, runs: Iterable[Sequence[int]], kind: PieceKind) -> Reduced:
    """Each run of pieces as one piece of this kind, in the place of its first."""
    pieces = list(reduced.pieces)
    first: dict[int, int] = {}
    for run in runs:
        first.update(dict.fromkeys(run, run[0]))
        pieces[run[0]] = _together([reduced.pieces[place] for place in run], kind)
    kept = [place for place in range(len(pieces)) if first.get(place, place) == place]
    number = {place: number for number, place in enumerate(kept)}
    links: dict[tuple[int, int], Link] = {}
    for link in reduced.links:
        pair = (number[first.get(link.tail, link.tail)], number[first.get(link.head, link.head)])
        if pair[0] != pair[1]:
            known = links.get(pair, Link(*pair, 0, True))
            links[pair] = Link(*pair, known.count + link.count, known.pruned and link.pruned)
    return replace(reduced, pieces=tuple(pieces[place] for place in kept), links=tuple(links.values()))


def _together(pieces: list[Piece], kind: PieceKind) -> Piece:
    return Piece(
        kind,
        tuple(node for piece in pieces for node in piece.nodes),
        pieces[0].frame,
        leaves=tuple(leaf for piece in pieces for leaf in piece.leaves),
        views=tuple(view for piece in pieces for view in piece.views),
        chips=tuple({leaf.id: leaf for piece in pieces for leaf in piece.chips}.values()),
        members=sum(piece.members for piece in pieces),
    )


def _followers(reduced: Reduced, nodes: frozenset[int]) -> dict[int, int]:
    """From each piece of a chain to the next one."""
    heads: dict[int, list[int]] = defaultdict(list)
    tails: dict[int, list[int]] = defaultdict(list)
    for link in reduced.links:
        heads[link.tail].append(link.head)
        tails[link.head].append(link.tail)
    follower: dict[int, int] = {}
    for tail, (head, *others) in heads.items():
        alone = not others and len(tails[head]) == 1 and tail in nodes and head in nodes
        if alone and reduced.pieces[tail].frame == reduced.pieces[head].frame:
            follower[tail] = head
    return follower


def _chain(piece: int, follower: dict[int, int]) -> list[int]:
    chain = [piece]
    while chain[-1] in follower:
        chain.append(follower[chain[-1]])
    return chain
