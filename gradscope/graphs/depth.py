"""How deep to open groups so that a picture stays readable."""

from __future__ import annotations

from itertools import groupby

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat


def fitting_depth(root: Group, limit: int, run: int | None = None) -> int:
    """The greatest depth at which at most `limit` boxes show; at least 1, where the outermost groups are closed.

    More than `run` nodes in a row between groups count as one box.
    """
    depth, shown = 0, 1
    closed: list[Group] = [root]  # what one level more would open
    while closed:
        boxes, inner = _open(closed, run)
        if depth > 0 and shown - len(closed) + boxes > limit:
            break
        depth, shown, closed = depth + 1, shown - len(closed) + boxes, inner
    return max(depth, 1)


def _open(groups: list[Group], run: int | None) -> tuple[int, list[Group]]:
    """How many boxes come out of opening groups, and which of them are groups that may be opened in turn."""
    boxes, inner = 0, []
    waiting: list[Item] = [child for group in groups for child in _shown(group, run)]
    for item in waiting:  # grows while it is walked
        if isinstance(item, Repeat):
            boxes += 2  # one for the rounds between, one for the last
            waiting.extend(item.rounds[0])
        else:
            boxes += 1
            if not isinstance(item, Node):
                inner.append(item)
    return boxes, inner


def _shown(group: Group, run: int | None) -> list[Item]:
    """A group's children, of a long run of nodes only the first."""
    if run is None or all(isinstance(child, Node) for child in group.children):
        return list(group.children)
    found: list[Item] = []
    for is_node, members in groupby(group.children, key=lambda child: isinstance(child, Node)):
        children = list(members)
        found += children[:1] if is_node and len(children) > run else children
    return found
