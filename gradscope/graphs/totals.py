"""What groups hold, counted for those that somebody asks about: of 100,000 nodes a page shows few."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.graphs.walk import parts
from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat, Totals


@dataclass(slots=True)
class _Count:
    """What a group holds that may be counted again, in one around it."""

    nodes: int = 0
    parameters: int = 0
    hooks: int = 0
    storages: dict[int, int] = field(default_factory=dict)
    orders: list[int] = field(default_factory=list)  # of the first and the last that ran

    def add(self, nodes: list[Node]) -> None:
        """Add nodes."""
        self.nodes += len(nodes)
        self.parameters += sum([node.accumulates for node in nodes])
        self.hooks += sum([len(node.hooks) for node in nodes if node.hooks])
        saved = [one for node in nodes if node.saved for one in node.saved]
        self.storages.update([(one.storage, one.bytes) for one in saved if one.leaf is None])
        self._reach([node.order for node in nodes if node.order is not None])

    def add_inner(self, inner: _Count) -> None:
        """Add what a group inside holds."""
        self.nodes += inner.nodes
        self.parameters += inner.parameters
        self.hooks += inner.hooks
        self.storages.update(inner.storages)
        self._reach(inner.orders)

    def _reach(self, orders: list[int]) -> None:
        orders = self.orders + orders
        self.orders = [min(orders), max(orders)] if orders else []


class Counter:
    """Counts what groups hold, each that holds others once."""

    def __init__(self) -> None:
        self._counts: dict[int, _Count] = {}  # by the identity of the group

    def totals(self, group: Group) -> Totals:
        """What a group holds, with everything inside it."""
        for one in reversed(list(self._unknown(group))):
            self._counts[id(one)] = self._count(one)
        found = self._counts[id(group)]
        first, last = found.orders or (None, None)
        return Totals(found.nodes, found.parameters, sum(found.storages.values()), found.hooks, first, last)

    def _unknown(self, group: Group) -> Iterator[Group]:
        """The groups that must be counted, those around before those inside."""
        waiting: list[Group | Repeat] = [group]
        while waiting:
            item = waiting.pop()
            if isinstance(item, Group):
                if id(item) in self._counts:
                    continue
                yield item
            waiting += [one for one in parts(item) if not (isinstance(one, Node) or _is_innermost(one))]

    def _count(self, group: Group) -> _Count:
        found, nodes, waiting = _Count(), list[Node](), [group.children]
        while waiting:
            for item in waiting.pop():
                if isinstance(item, Node):
                    nodes.append(item)
                elif id(item) in self._counts:
                    found.add_inner(self._counts[id(item)])
                else:  # more of the same, or one that holds nodes alone
                    waiting.append(parts(item))
        found.add(nodes)
        return found


def _is_innermost(item: Item) -> bool:
    return isinstance(item, Group) and not any(type(child) is not Node for child in item.children)
