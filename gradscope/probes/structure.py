"""Interns what a graph is made of, but for its tensors: nodes, lines, module calls, edges."""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass, field
from typing import Any

from gradscope.probes.functions import Functions
from gradscope.probes.modules import Call, Calls
from gradscope.probes.nodes import Token
from gradscope.probes.sink import Sink

UNNUMBERED = 2**64 - 1  # the sequence number of AccumulateGrad
_AFTER_ITS_OPERATOR = "torch::autograd::CopySlices"  # made after the in-place operator that it belongs to
_WIDTH = 12  # numbers in a node's row


@dataclass(slots=True)
class Look:
    """What tells one graph from another, as lists by node number: compared at C's speed, so no row per node."""

    names: list[str]
    kinds: list[type]
    stacks: list[int]
    operators: list[int]
    places: list[int]
    roots: list[int]
    sequence: list[int]
    leaves: list[int]
    leaf_numbers: list[int]
    edges: array[int]
    calls: list[Call | None] = field(compare=False)

    def forget_calls(self) -> None:
        """Let go of what belongs to this step only."""
        self.calls = []


class Structures:
    """Takes graphs apart into rows, and writes those that are new."""

    def __init__(self, sink: Sink, functions: Functions, calls: Calls) -> None:
        self._sink, self._functions, self._calls = sink, functions, calls

    def take(self, look: Look, tokens: list[Token], numbers: dict[int, int]) -> int:
        """The id of a graph."""
        call_ids = self._calls.ids({call.serial: call for call in look.calls if call is not None})
        leaves = dict(zip(look.leaf_numbers, look.leaves, strict=True))
        rows = array("q")
        for number, token in enumerate(tokens):
            call = look.calls[number]
            rows.extend(
                (
                    *self._of_type(look, number, token),
                    look.sequence[number],
                    token.stack,
                    0 if call is None else call_ids[call.serial],
                    token.levels,
                    token.thread,
                    numbers.get(token.parent, -1) if token.parent else -1,
                    token.parent_name,
                    token.parent_stack,
                    leaves.get(number, 0),
                )
            )
        key = digest(rows, look.edges)
        graph, new = self._sink.template("graph", key)
        if new:
            try:
                self._write(graph, rows, look.edges)
            except BaseException:  # the script's signal handler struck
                self._sink.discard("graph", key)
                raise
        return graph

    def _of_type(self, look: Look, number: int, token: Token) -> tuple[int, int, int]:
        """Name, custom Function and operator: a Function has none of its own, its node is made before it runs."""
        name = look.names[number]
        function = self._functions.take(look.kinds[number])
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


def digest(*arrays: array[int]) -> bytes:
    """What tells the content of flat rows from any other."""
    found = hashlib.blake2b(digest_size=16)
    for one in arrays:
        found.update(len(one).to_bytes(8, "little"))
        found.update(one)
    return found.digest()


def _none(number: int) -> int | None:
    return None if number < 0 else number
