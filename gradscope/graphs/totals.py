"""What groups hold, counted for those that somebody asks about: of 100,000 nodes a page shows few."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter

from gradscope.graphs.walk import is_innermost, parts
from gradscope.model.graph import Node, is_accumulate
from gradscope.model.group import Group, Item, Repeat, Totals

_NAME, _ORDER = attrgetter("name"), attrgetter("order")


class Holdings:
    """The nodes of a tree in one row, in which each group has a part."""

    def __init__(self, tree: Group) -> None:
        self._nodes: list[Node] = []
        self._parts: dict[int, slice] = {}  # by the identity of the group
        self._counted: dict[int, Totals] = {}  # as well: a text is laid out anew for each depth that it may have
        self._lay_out(tree)

    def totals(self, group: Group) -> Totals:
        """What a group of the tree holds, with everything inside it."""
        if id(group) not in self._counted:
            self._counted[id(group)] = self._count(group)
        return self._counted[id(group)]

    def _count(self, group: Group) -> Totals:
        nodes = self._nodes[self._parts[id(group)]]
        parameters = sum(count for name, count in Counter(map(_NAME, nodes)).items() if is_accumulate(name))
        saved = {one.storage: one.bytes for node in nodes if node.saved for one in node.saved if one.leaf is None}
        hooks = sum([len(node.hooks) for node in nodes if node.hooks])
        ran = [order for order in map(_ORDER, nodes) if order is not None]
        first, last = (min(ran), max(ran)) if ran else (None, None)
        return Totals(len(nodes), parameters, sum(saved.values()), hooks, first, last)

    def _lay_out(self, tree: Group) -> None:
        nodes, found = self._nodes, self._parts
        waiting: list[tuple[Group | Repeat, int, Iterator[Item]]] = [(tree, 0, iter(tree.children))]
        while waiting:
            around, start, items = waiting[-1]
            for item in items:
                if isinstance(item, Node):
                    nodes.append(item)
                elif is_innermost(item):
                    place = len(nodes)
                    nodes.extend(item.children)  # type: ignore[arg-type]
                    found[id(item)] = slice(place, len(nodes))
                else:
                    waiting.append((item, len(nodes), iter(parts(item))))
                    break
            else:
                waiting.pop()
                found[id(around)] = slice(start, len(nodes))
