"""Where in a stretch of operators each operator and node stands: worked out once for stretches that repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from typing import Any

from gradscope.model.export import Kind
from gradscope.model.operation import Operation
from gradscope.store.reader import Recording

COLLECTIVE, NODE, OPERATOR = "collective", "node", "operator"
_UNNAMED = ("node", "")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a slice stands after the one before it, counted in operators: its length, and how far it moves the next.

    `leaves`: the flows of such operators, to which it adds one; `enters`: those of which it takes the last.
    """

    length: int
    moves: int
    kind: Kind
    leaves: list[int] | None = None
    enters: list[int] | None = None


class Places:
    """The places of a recording's operators and nodes. What looks alike in a trace has one kind."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._graphs = {number: group[0] for group in recording.by_graph() for number in group}
        self._names: dict[int, list[tuple[str, str]]] = {}
        self._operators: dict[int, Place] = {}
        self._kinds: dict[tuple[Any, ...], Kind] = {}
        self._nodes: dict[tuple[str, str, bool], tuple[Kind, list[int]]] = {}
        self._made: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._known: dict[tuple[int, int | None, bool], list[Place]] = {}

    def stretch(self, operations: tuple[Operation, ...], backward: int | None, measured: bool) -> list[Place]:
        """The places in a stretch: operators, in a backward inside of nodes, but where `measured` those have times."""
        key = (id(operations), None if backward is None else self._graphs.get(backward), measured)
        found = self._known.get(key)  # operations are held by what reads them as long as there are more of them
        if found is None:
            inside = self._inside(operations, None if measured else backward)
            found = self._known[key] = list(inside)
        return found

    def node(self, backward: int, measured: bool) -> Callable[[int], tuple[Kind, list[int]]]:
        """What tells a node's kind, and the flows that wait for such nodes, in a call's graph."""
        graph = self._graphs.get(backward)
        if graph is not None and graph not in self._names:
            self._names[graph] = self._recording.names(graph)
        names = [] if graph is None else self._names[graph]

        def known(node: int) -> tuple[Kind, list[int]]:
            name, line = names[node] if 0 <= node < len(names) else _UNNAMED
            found = self._nodes.get((name, line, measured))
            if found is None:
                found = self._kind(name, NODE, line, measured), self._made[_stem(name), line]
                self._nodes[name, line, measured] = found
            return found

        return known

    def _inside(self, operations: tuple[Operation, ...], backward: int | None) -> Iterator[Place]:
        """Operators, and around those of a backward the nodes that ran them."""
        if backward is None:
            yield from map(self._operator, operations)
            return
        node_of = self.node(backward, False)
        for node, group in groupby(operations, key=attrgetter("node")):
            inside = list(group)
            if node is not None:
                kind, made = node_of(node)
                yield Place(len(inside), 0, kind, enters=made)
            yield from map(self._operator, inside)

    def _operator(self, one: Operation) -> Place:
        found = self._operators.get(id(one))  # they are interned, for as long as there are more of them
        if found is None:
            category, line = COLLECTIVE if "c10d" in one.name else OPERATOR, str(one.site or "")
            kind = self._kind(one.name, category, line, False)
            leaves = category is OPERATOR and one.node is None and one.grad
            found = Place(1, 1, kind, self._made[_stem(one.name), line] if leaves else None)
            self._operators[id(one)] = found
        return found

    def _kind(self, *about: Any) -> Kind:
        return self._kinds.setdefault(about, Kind(*about))


def _stem(name: str) -> str:
    """`addmm` of `aten.addmm.default` and of `AddmmBackward0`."""
    if "." in name:
        name = name.split(".")[1]
    name = name.partition("Backward")[0]
    return name.replace("_", "").lower()
