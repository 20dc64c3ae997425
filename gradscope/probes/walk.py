"""Walks the live graph of a backward call. Holds nodes and tensors only while it walks.

Steps repeat, so a walk first asks whether the graph looks like one of the last few: the same node types, lines,
operators, calls, relative sequence numbers, edges, leaves and shapes. Only a graph that does not is taken apart.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

from gradscope.probes.functions import Functions
from gradscope.probes.modules import Call, Calls
from gradscope.probes.names import Names
from gradscope.probes.nodes import KEY, Nodes, Token, token_of
from gradscope.probes.sink import Sink
from gradscope.probes.structure import UNNUMBERED, Look, Structures
from gradscope.probes.tensors import Contents, storage_of

_REMEMBERED = 8  # graphs kept to compare with
_LOOK_AGAIN = 16  # every so many repeats the saved tensors are read anew, to see that they still repeat


class Walked:
    """What a walk found: ids of the interned graph and tensors, and the number of each node by its token's uid."""

    __slots__ = ("graph", "leaves", "numbers", "seq_base", "tensors")

    def __init__(
        self, graph: int, tensors: int, seq_base: int, numbers: dict[int, int], leaves: dict[int, int]
    ) -> None:
        self.graph = graph
        self.tensors = tensors
        self.seq_base = seq_base
        self.numbers = numbers
        self.leaves = leaves  # id() of a leaf tensor -> number of its AccumulateGrad


class Remembered:
    """A graph as it looked in an earlier step. `repeats` counts those with the same shapes, None: do not trust it."""

    __slots__ = ("graph", "look", "repeats", "shapes", "tensors")

    def __init__(self, look: Look, graph: int, shapes: list[Any], tensors: int) -> None:
        self.look = look
        self.graph = graph
        self.shapes = shapes
        self.tensors = tensors
        self.repeats: int | None = 0


class Walker:
    """Walks graphs and keeps what can be reused from one walk to the next."""

    def __init__(self, sink: Sink, nodes: Nodes, names: Names) -> None:
        self._sink, self._nodes, self._names = sink, nodes, names
        self._structures = Structures(sink, Functions(sink), Calls(sink))
        self._contents = Contents(sink, names)
        self._remembered: deque[Remembered] = deque(maxlen=_REMEMBERED)

    def walk(self, roots: Iterable[Any]) -> tuple[Walked, list[Any]]:
        """Walk from root nodes. Returns the result, and the live nodes by number: drop these soon."""
        live, edges = discover(roots)
        tokens = self._tokens(live)
        numbers = dict(zip([token.uid for token in tokens], range(len(tokens)), strict=True))
        sequence = [node._sequence_nr() for node in live]
        variables = {
            number: live[number].variable
            for number, seq in enumerate(sequence)
            if seq == UNNUMBERED and hasattr(live[number], "variable")
        }
        base = min((seq for seq in sequence if seq != UNNUMBERED), default=0)
        look = self._look(live, tokens, sequence, base, edges, variables)
        graph, tensors = self._recall(look, live, tokens, numbers, variables)
        leaves = {id(variable): number for number, variable in variables.items()}
        return Walked(graph, tensors, base, numbers, leaves), live

    def _tokens(self, live: list[Any]) -> list[Token]:
        tokens = [node.metadata.get(KEY) for node in live]
        for number, token in enumerate(tokens):
            if not isinstance(token, Token):  # made before the recording began
                found = token_of(live[number])
                tokens[number] = self._nodes.adopt(live[number]) if found is None else found
        return tokens

    def _look(
        self,
        live: list[Any],
        tokens: list[Token],
        sequence: list[int],
        base: int,
        edges: array[int],
        variables: dict[int, Any],
    ) -> Look:
        calls = _calls(tokens, variables, edges)
        first = min((call.root for call in calls if call is not None), default=0)
        return Look(
            names=[node.name() for node in live],
            kinds=[type(node) for node in live],
            stacks=[token.stack for token in tokens],
            operators=[token.operator for token in tokens],
            places=[0 if call is None else call.place for call in calls],
            roots=[0 if call is None else call.root - first for call in calls],
            sequence=[-1 if seq == UNNUMBERED else seq - base for seq in sequence],
            leaves=[self._sink.string(self._names.leaf(variable)) for variable in variables.values()],
            leaf_numbers=list(variables),
            edges=edges,
            calls=calls,
        )

    def _recall(
        self, look: Look, live: list[Any], tokens: list[Token], numbers: dict[int, int], variables: dict[int, Any]
    ) -> tuple[int, int]:
        """The interned ids of a graph that may have been seen before."""
        shapes = [meta.shape for node in live for meta in node._input_metadata if not meta.is_cpp_nested_tensor]
        plain = not any(token.derived for token in tokens)
        if plain:
            for one in self._remembered:
                if one.shapes == shapes and one.look == look:
                    return self._again(one, look, live, variables)
        graph = self._structures.take(look, tokens, numbers)
        tensors = self._contents.take(live, _leaf_storages(look, variables))
        if plain:
            look.forget_calls()
            self._remembered.appendleft(Remembered(look, graph, shapes, tensors))
        return graph, tensors

    def _again(self, one: Remembered, look: Look, live: list[Any], variables: dict[int, Any]) -> tuple[int, int]:
        """The same graph again. What the nodes save follows from it, but not by necessity: look now and then."""
        if one.repeats is not None:
            one.repeats += 1
            if one.repeats > 2 and one.repeats % _LOOK_AGAIN:
                return one.graph, one.tensors
        tensors = self._contents.take(live, _leaf_storages(look, variables))
        if tensors != one.tensors:
            one.repeats, one.tensors = None, tensors
        return one.graph, tensors


def discover(roots: Iterable[Any]) -> tuple[list[Any], array[int]]:
    """The nodes reachable from the roots, breadth first, and the edges as (source, output, target, input_nr)."""
    live: list[Any] = []
    index: dict[Any, int] = {}
    edges = array("q")
    for root in roots:
        if root not in index:
            index[root] = len(live)
            live.append(root)
    add, known = edges.extend, index.get
    for number, node in enumerate(live):  # grows while it is walked
        for output, (target, input_nr) in enumerate(node.next_functions):
            if target is not None:
                reached = known(target)
                if reached is None:
                    reached = index[target] = len(live)
                    live.append(target)
                add((number, output, reached, input_nr))
    return live, edges


def _calls(tokens: list[Token], leaves: dict[int, Any], edges: array[int]) -> list[Call | None]:
    """The module call of each node. An AccumulateGrad may be older: it belongs where its leaf is used."""
    calls = [token.call for token in tokens]
    left = set(leaves)
    for at in range(0, len(edges), 4):
        target = edges[at + 2]
        if target in left:
            left.discard(target)
            calls[target] = calls[edges[at]]
    return calls


def _leaf_storages(look: Look, variables: dict[int, Any]) -> dict[int, int]:
    """The name of each leaf by the identity of its storage."""
    names = zip(variables.values(), look.leaves, strict=True)
    found = {storage_of(variable)[0]: name for variable, name in names if isinstance(variable, torch.Tensor)}
    found.pop(0, None)
    return found
