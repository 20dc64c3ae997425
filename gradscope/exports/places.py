"""Where in a stretch of operators each operator and node stands: worked out once for stretches that repeat."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import compress, pairwise
from operator import attrgetter, ne
from typing import Any

from gradscope.model.export import Kind
from gradscope.model.operation import Operation
from gradscope.store.reader import Recording

COLLECTIVE, NODE, OPERATOR = "collective", "node", "operator"
_UNNAMED = ("node", "")


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """An operator, or a node `around` the `length` operators that follow it.

    `leaves`: the flows of such operators, to which it adds one; `enters`: those of which it takes the last.
    """

    kind: Kind
    length: int = 1
    around: bool = False
    leaves: list[int] | None = None
    enters: list[int] | None = None


class Places:
    """The places of a recording's operators and nodes. What looks alike in a trace has one kind."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._graphs = {number: group[0] for group in recording.by_graph() for number in group}
        self._names: dict[int, list[tuple[str, str]]] = {}
        self._operators: dict[int, Place] = {}
        self._around: dict[tuple[tuple[str, str], int], Place] = {}
        self._kinds: dict[tuple[Any, ...], Kind] = {}
        self._nodes: dict[tuple[str, str], tuple[Kind, list[int]]] = {}
        self._made: dict[tuple[str, str], list[int]] = defaultdict(list)
        self._known: dict[tuple[int, int | None, bool], list[Place]] = {}

    def stretch(self, operations: tuple[Operation, ...], backward: int | None, measured: bool) -> list[Place]:
        """The places in a stretch: operators, in a backward inside of nodes, but where `measured` those have times."""
        key = (id(operations), None if backward is None else self._graphs.get(backward), measured)
        found = self._known.get(key)  # operations are held by what reads them as long as there are more of them
        if found is None:
            found = self._known[key] = self._inside(operations, None if measured else backward)
        return found

    def node(self, backward: int) -> Callable[[int], tuple[Kind, list[int]]]:
        """What tells the kind of a node with times of its own, and the flows that wait for such nodes."""
        names = self._names_of(backward)

        def known(node: int) -> tuple[Kind, list[int]]:
            named = names[node] if 0 <= node < len(names) else _UNNAMED
            found = self._nodes.get(named)
            if found is None:
                found = self._nodes[named] = self._kind(named[0], NODE, named[1], True), self._made_at(*named)
            return found

        return known

    def _inside(self, operations: tuple[Operation, ...], backward: int | None) -> list[Place]:
        """Operators, and around those of a backward the nodes that ran them."""
        places = self._operators_of(operations)
        if backward is None:
            return places
        names, around = self._names_of(backward), self._around
        found: list[Place] = []
        nodes, count = list(map(attrgetter("node"), operations)), len(names)
        starts = compress(range(1, len(nodes)), map(ne, nodes, nodes[1:]))
        for at, until in pairwise((0, *starts, len(nodes))):
            if (node := nodes[at]) is not None:
                key = names[node] if 0 <= node < count else _UNNAMED, until - at
                found.append(around.get(key) or self._node_around(*key))
            found += places[at:until]
        return found

    def _operators_of(self, operations: tuple[Operation, ...]) -> list[Place]:
        """By identity, since operations are interned for as long as there are more of them."""
        known = self._operators
        try:
            return list(map(known.__getitem__, map(id, operations)))  # nearly always
        except KeyError:
            return [known.get(id(one)) or self._operator(one) for one in operations]

    def _names_of(self, backward: int) -> list[tuple[str, str]]:
        """Name and line of each node in the graph of a call."""
        graph = self._graphs.get(backward)
        if graph is None:
            return []
        if graph not in self._names:
            self._names[graph] = self._recording.names(graph)
        return self._names[graph]

    def _node_around(self, named: tuple[str, str], length: int) -> Place:
        kind, made = self._kind(named[0], NODE, named[1], False), self._made_at(*named)
        found = self._around[named, length] = Place(kind, length, around=True, enters=made)
        return found

    def _operator(self, one: Operation) -> Place:
        category, line = COLLECTIVE if "c10d" in one.name else OPERATOR, str(one.site or "")
        kind = self._kind(one.name, category, line, False)
        leaves = category is OPERATOR and one.node is None and one.grad
        found = Place(kind, leaves=self._made_at(one.name, line) if leaves else None)
        self._operators[id(one)] = found
        return found

    def _made_at(self, name: str, line: str) -> list[int]:
        """The flows from operators of a line to the nodes that they make."""
        return self._made[_stem(name), line]

    def _kind(self, *about: Any) -> Kind:
        return self._kinds.setdefault(about, Kind(*about))


def _stem(name: str) -> str:
    """`addmm` of `aten.addmm.default` and of `AddmmBackward0`."""
    if "." in name:
        name = name.split(".")[1]
    name = name.partition("Backward")[0]
    return name.replace("_", "").lower()
