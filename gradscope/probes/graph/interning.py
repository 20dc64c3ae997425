"""Interns what a graph is made of, but for its tensors: nodes, lines, module calls, edges."""

from __future__ import annotations

import itertools
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from gradscope.probes.core.digest import digest
from gradscope.probes.core.module_call import InternedCalls, RunningModuleCall
from gradscope.probes.core.node_token import DerivedToken, Token
from gradscope.probes.core.sink import Sink, store
from gradscope.probes.graph.function_classes import FunctionClasses

UNNUMBERED = 2**64 - 1  # the sequence number of AccumulateGrad
_AFTER_ITS_OPERATOR = "torch::autograd::CopySlices"  # made after the in-place operator that it belongs to
_WIDTH = 12  # numbers in a node's row
_UNDERIVED = (0, -1, 0, 0)  # made under no transform and in no backward


@dataclass(slots=True)
class Edges:
    """Edges by source, in the order of their outputs: how many each node has, and where each leads (-1: nowhere)."""

    counts: list[int]
    targets: list[int]
    inputs: list[int]

    def rows(self) -> Iterator[tuple[int, int, int, int]]:
        """Each edge as (source, output, target, input_nr)."""
        at = 0
        for source, count in enumerate(self.counts):
            for output in range(count):
                if self.targets[at] >= 0:
                    yield source, output, self.targets[at], self.inputs[at]
                at += 1


@dataclass(slots=True)
class GraphSignature:
    """What tells one graph from another, as lists by node number: compared at C's speed, so no row per node."""

    kinds: list[type]  # a generic kind has nodes of several names
    stacks: list[int]
    operators: list[int]
    threads: list[int]
    places: list[int]  # of the module calls; an AccumulateGrad has its own from its edges
    roots: list[int]
    sequence: list[int]
    leaves: list[int]
    leaf_numbers: list[int]
    shapes: list[Any]
    derivations: list[tuple[int, int, int, int]]  # levels, and the parent's number, name and stack; empty: none has any
    edges: Edges


class InternedGraphs:
    """Takes graphs apart into rows, and writes those that are new."""

    def __init__(self, sink: Sink, functions: FunctionClasses, calls: InternedCalls) -> None:
        self._sink, self._functions, self._calls = sink, functions, calls

    def take(self, look: GraphSignature, live: list[Any], tokens: list[Token]) -> int:
        """The id of a graph."""
        calls = _calls(look, tokens)
        call_ids = self._calls.ids({call.serial: call for call in calls if call is not None})
        leaves = dict(zip(look.leaf_numbers, look.leaves, strict=True))
        rows, edges = array("q"), array("q")
        derivations = look.derivations or itertools.repeat(_UNDERIVED)
        for number, (token, derivation) in enumerate(zip(tokens, derivations, strict=False)):
            call = calls[number]
            levels, parent, parent_name, parent_stack = derivation
            rows.extend(
                (
                    *self._of_type(live[number], token),
                    look.sequence[number],
                    token.stack,
                    0 if call is None else call_ids[call.serial],
                    levels,
                    token.thread,
                    parent,
                    parent_name,
                    parent_stack,
                    leaves.get(number, 0),
                )
            )
        for edge in look.edges.rows():
            edges.extend(edge)
        return store(self._sink, "graph", digest(rows, edges), lambda graph: self._write(graph, rows, edges))

    def _of_type(self, node: Any, token: Token) -> tuple[int, int, int]:
        """Name, custom Function and operator: a Function has none of its own, its node is made before it runs."""
        name = node.name()
        function = self._functions.take(type(node))
        operator = token.previous if name == _AFTER_ITS_OPERATOR else token.operator
        return self._sink.string(name), function, 0 if function else operator

    def _write(self, graph: int, rows: array[int], edges: array[int]) -> None:
        count = len(rows) // _WIDTH
        self._sink.add("graph", (graph, count, len(edges) // 4))
        for number in range(count):
            name, function, op, seq, stack, call, levels, thread, parent, parent_name, parent_stack, leaf = rows[
                number * _WIDTH : (number + 1) * _WIDTH
            ]
            place: tuple[Any, ...] = (name, _none(seq), stack, call, op, levels, thread)
            self._sink.add("node", (graph, number, *place, _none(parent), parent_name, parent_stack, leaf, function))
        self._sink.add_all("edge", ((graph, *edges[at : at + 4]) for at in range(0, len(edges), 4)))


def derivations_of(tokens: list[Token], numbers: dict[int, int]) -> list[tuple[int, int, int, int]]:
    """What tells nodes made under transforms or in a backward from others; `numbers` has those of the graph's nodes."""
    if DerivedToken not in set(map(type, tokens)):
        return []
    return [
        (one.levels, numbers.get(one.parent, -1) if one.parent else -1, one.parent_name, one.parent_stack)
        for one in tokens
    ]


def _calls(look: GraphSignature, tokens: list[Token]) -> list[RunningModuleCall | None]:
    """The module call of each node. An AccumulateGrad may be older: it belongs where its leaf is used."""
    calls = [token.call for token in tokens]
    left = set(look.leaf_numbers)
    for source, _, target, _ in look.edges.rows():
        if target in left:
            left.discard(target)
            calls[target] = calls[source]
    return calls


def _none(number: int) -> int | None:
    return None if number < 0 else number
