"""How deep to open groups so that a picture stays readable."""

from __future__ import annotations

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat


def fitting_depth(root: Group, limit: int) -> int:
    """The greatest depth at which at most `limit` boxes show; at least 1, where the outermost groups are closed."""
    depth, shown = 0, 1
    closed: list[Group] = [root]  # what one level more would open
    while closed:
        boxes, inner = _open(closed)
        if depth > 0 and shown - len(closed) + boxes > limit:
            break
        depth, shown, closed = depth + 1, shown - len(closed) + boxes, inner
    return max(depth, 1)


def _open(groups: list[Group]) -> tuple[int, list[Group]]:
    """How many boxes come out of opening groups, and which of them are groups that may be opened in turn."""
    boxes, inner = 0, []
    waiting: list[Item] = [child for group in groups for child in group.children]
    for item in waiting:  # grows while it is walked
        if isinstance(item, Repeat):
            boxes += 2  # one for the rounds between, one for the last
            waiting.extend(item.rounds[0])
        else:
            boxes += 1
            if not isinstance(item, Node):
                inner.append(item)
    return boxes, inner
