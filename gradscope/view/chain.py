"""Joins chains: what no module groups and nothing branches from is one box, however long."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from gradscope.model.graph import Node
from gradscope.view.drawing import Arrow, Drawing
from gradscope.view.role import Role
from gradscope.view.words import amount, kinds


def join_chains(drawing: Drawing, nodes: dict[int, Node]) -> Drawing:
    """The drawing with every chain of the boxes in `nodes` (one arrow in, one out) as one box."""
    follower = _followers(drawing, nodes)
    followed = set(follower.values())
    chain_of: dict[int, list[int]] = {}
    for box in follower:
        if box not in followed:
            chain_of[box] = _chain(box, follower)
    inner = {box: head for head, chain in chain_of.items() for box in chain[1:]}
    kept = [box for box in range(len(drawing.boxes)) if box not in inner]
    place = {box: number for number, box in enumerate(kept)}
    place.update((box, place[head]) for box, head in inner.items())
    boxes = list(drawing.boxes)
    for head, chain in chain_of.items():
        members = [nodes[box] for box in chain]
        notes = (amount(len(members), "node") + " in a row",)
        boxes[head] = replace(boxes[head], title=kinds(members), notes=notes, roles=frozenset({Role.FOLDED}))
    arrows = (Arrow(place[arrow.tail], place[arrow.head], arrow.count) for arrow in drawing.arrows)
    return replace(
        drawing,
        boxes=tuple(boxes[box] for box in kept),
        arrows=tuple(arrow for arrow in arrows if arrow.tail != arrow.head),
    )


def _followers(drawing: Drawing, nodes: dict[int, Node]) -> dict[int, int]:
    """From each box of a chain to the next one."""
    heads: dict[int, list[int]] = defaultdict(list)
    tails: dict[int, list[int]] = defaultdict(list)
    for arrow in drawing.arrows:
        heads[arrow.tail].append(arrow.head)
        tails[arrow.head].append(arrow.tail)
    follower: dict[int, int] = {}
    for tail, (head, *others) in heads.items():
        alone = not others and len(tails[head]) == 1 and tail in nodes and head in nodes
        if alone and drawing.boxes[tail].cluster == drawing.boxes[head].cluster:
            follower[tail] = head
    return follower


def _chain(box: int, follower: dict[int, int]) -> list[int]:
    chain = [box]
    while chain[-1] in follower:
        chain.append(follower[chain[-1]])
    return chain
