"""A graph as a tree of module calls. Nesting may be deep: walk it with `graphs.walk`, which does not recurse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gradscope.model.graph import Level, Node


@dataclass(frozen=True, slots=True)
class Totals:
    """What a group holds, with everything inside it.

    `first` and `last` are places in backward order, None when nothing in it ran. `saved_bytes` counts each storage
    once, and parameters not at all: they would live anyway.
    """

    nodes: int = 0
    parameters: int = 0
    saved_bytes: int = 0
    hooks: int = 0
    first: int | None = None
    last: int | None = None


@dataclass(slots=True, eq=False)  # not frozen: frozen ones take four times as long to make
class Group:
    """The nodes of one module call, and the calls that it made, in backward order.

    `name` is relative to the group around it; for an outermost call, and for what was made during a backward, it is
    all there is to say, and `module_class` may be empty. `level` is set for what stands for a torch.func level.
    """

    name: str
    module_class: str
    children: tuple[Item, ...]
    level: Level | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Repeat:
    """The same items again and again: four or more rounds that differ only in their names and parameters.

    `start` is the number of the first of them, where those before it stand by themselves.
    """

    rounds: tuple[tuple[Node | Group, ...], ...]
    start: int = 1


Item: TypeAlias = Node | Group | Repeat
