"""How deep to open groups so that a picture stays readable."""

from __future__ import annotations

from collections.abc import Collection
from itertools import groupby

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat


def fitting_depth(root: Group, limit: int, run: int | None = None, wanted: Collection[int] = ()) -> int:
    """The greatest depth at which at most `limit` boxes show; at least 1, where the outermost groups are closed.

    More than `run` nodes in a row between groups count as one box. The groups `wanted`, by identity, are open anyway.
    """
    depth, closed = 1, _count(root, 1, run, wanted)[1]
    while closed:
        boxes, closed = _count(root, depth + 1, run, wanted)
        if boxes > limit:
            break
        depth += 1
    return depth


def _count(root: Group, depth: int, run: int | None, wanted: Collection[int]) -> tuple[int, int]:
    """How many boxes show at a depth, and how many of them are closed groups."""
    boxes, closed = 0, 0
    waiting: list[tuple[Item, int]] = [(child, 1) for child in _shown(root, run)]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, Repeat):
            boxes += 2  # one for the rounds between, one for the last
            waiting.extend((part, level) for part in item.rounds[0])
        elif isinstance(item, Group) and (item.level is not None or level < depth or id(item) in wanted):
            deeper = level + (item.level is None)
            waiting.extend((child, deeper) for child in _shown(item, run))
        else:
            boxes += 1
            closed += isinstance(item, Group)
    return boxes, closed


def _shown(group: Group, run: int | None) -> list[Item]:
    """A group's children, of a long run of nodes only the first."""
    if run is None or all(isinstance(child, Node) for child in group.children):
        return list(group.children)
    found: list[Item] = []
    for is_node, members in groupby(group.children, key=lambda child: isinstance(child, Node)):
        children = list(members)
        found += children[:1] if is_node and len(children) > run else children
    return found
