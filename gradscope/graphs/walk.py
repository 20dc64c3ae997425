"""Walks that do not recurse."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TypeGuard

from gradscope.model.graph import Node
from gradscope.model.group import Group, Item, Repeat

_NODES = {Node}


def backward_order(nodes: Iterable[Node]) -> list[Node]:
    """Nodes as the engine ran them, then those that it did not run."""
    found = sorted(nodes, key=attrgetter("id"))
    ran = sorted([node for node in found if node.order is not None], key=attrgetter("order"))
    return ran if len(ran) == len(found) else ran + [node for node in found if node.order is None]


def nodes_of(items: Iterable[Item]) -> Iterator[Node]:
    """Every node in the items, from the top."""
    waiting = [iter(items)]
    while waiting:
        for item in waiting[-1]:
            if isinstance(item, Node):
                yield item
                continue
            if is_innermost(item):
                yield from item.children  # type: ignore[misc]
                continue
            waiting.append(iter(parts(item)))
            break
        else:
            waiting.pop()


def is_innermost(item: Group | Repeat) -> TypeGuard[Group]:
    """Whether it is a group that holds nodes alone, as nearly all nodes stand in."""
    return isinstance(item, Group) and set(map(type, item.children)) == _NODES


def parts(item: Group | Repeat) -> tuple[Item, ...]:
    """What stands directly in a group or a repeat."""
    if isinstance(item, Group):
        return item.children
    return tuple(part for one_round in item.rounds for part in one_round)
