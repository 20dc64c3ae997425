"""Which groups must be open for some nodes to show."""

from __future__ import annotations

from collections.abc import Collection

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat

ANY_DEPTH = 1 << 60


def groups_around(tree: Group, wanted: Collection[int], deepest: int = ANY_DEPTH) -> tuple[frozenset[int], int]:
    """The identities of the groups with one of these nodes inside, down to a depth, and how many boxes that takes.

    The number of boxes is the least: one in each group that is the innermost for one of the nodes. Repeats stay
    folded: only in their first round are groups opened.
    """
    found: set[int] = set()
    innermost: set[int] = set()
    if not wanted or deepest < 1:
        return frozenset(), 0
    waiting: list[tuple[tuple[Item, ...], tuple[int, ...], int]] = [(tree.children, (), 1)]
    while waiting:
        items, path, level = waiting.pop()
        for item in items:
            if isinstance(item, Node):
                if item.id in wanted:
                    found.update(path)
                    innermost.update(path[-1:])
            elif isinstance(item, Group):
                lone = _is_lone(item)
                inner = (*path, id(item)) if level - lone <= deepest else path
                waiting.append((item.children, inner, level + (item.level is None and not lone)))
            else:
                waiting.append((item.rounds[0], path, level))
    return frozenset(found), len(innermost)


def _is_lone(group: Group) -> bool:
    """Whether one thing is all that stands in a group: to open it takes no room."""
    return len(group.children) == 1 and not isinstance(group.children[0], Repeat)


def height(tree: Group) -> int:
    """How deep module calls nest."""
    highest = 0
    waiting: list[tuple[Item, int]] = [(child, 1) for child in tree.children]
    while waiting:
        item, level = waiting.pop()
        if isinstance(item, Group):
            highest = max(highest, level)
            waiting.extend((child, level + (item.level is None)) for child in item.children)
        elif not isinstance(item, Node):
            waiting.extend((part, level) for part in item.rounds[0])
    return highest
