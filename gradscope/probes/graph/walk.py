"""Walks the live graph of a backward call. Holds nodes and tensors only while it walks.

Steps repeat, so a walk first asks whether the graph looks like one of the last few: the same node types, lines,
operators, calls, levels, parents, relative sequence numbers, edges, leaves and shapes. Only a graph that does not is
taken apart.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.core.module_call import InternedCalls
from gradscope.probes.core.node_token import KEY, DerivedToken, Token, token_of
from gradscope.probes.core.sink import Gone
from gradscope.probes.core.walked_graph import WalkedGraph
from gradscope.probes.graph.function_classes import FunctionClasses
from gradscope.probes.graph.interning import UNNUMBERED, Edges, GraphSignature, InternedGraphs, derivations_of
from gradscope.probes.graph.node_creation import node_creation
from gradscope.probes.tensors.metadata import TensorContents, storage_of
from gradscope.signals import let_through

_REMEMBERED = 32  # graphs kept to compare with: texts come in many lengths
_GENERIC = "CppFunction"  # the type of nodes that torch gives no type of their own
_LOOK_AGAIN = 16  # every so many repeats the saved tensors are read anew, to see that they still repeat


class Remembered:
    """A graph as it looked in an earlier step. `repeats` counts its returns, None: do not trust what it saves."""

    __slots__ = ("generic", "graph", "look", "repeats", "tensors")

    def __init__(self, look: GraphSignature, live: list[Any], graph: int, tensors: int) -> None:
        self.look = look
        self.generic = [(n, live[n].name()) for n, kind in enumerate(look.kinds) if kind.__name__ == _GENERIC]
        self.graph = graph
        self.tensors = tensors
        self.repeats: int | None = 0

    def is_like(self, look: GraphSignature, live: list[Any]) -> bool:
        """Whether another graph looks the same."""
        return self.look == look and all(live[number].name() == name for number, name in self.generic)


class Walker:
    """Walks graphs and keeps what can be reused from one walk to the next."""

    def __init__(self, context: Context) -> None:
        self._sink, self._nodes, self._names = context.sink, context.get(node_creation), context.names
        self._structures = InternedGraphs(self._sink, FunctionClasses(self._sink), InternedCalls(self._sink))
        self.contents = context.get(TensorContents)
        self._remembered: deque[Remembered] = deque(maxlen=_REMEMBERED)
        context.events.content_gone.append(self._forget)

    def _forget(self, gone: Gone) -> None:
        graphs, tensors = gone["graph"], gone["tensors"]
        left = [one for one in tuple(self._remembered) if one.graph not in graphs and one.tensors not in tensors]
        self._remembered = deque(left, maxlen=_REMEMBERED)

    def walk(self, roots: Iterable[Any]) -> tuple[WalkedGraph, list[Any]]:
        """Walk from root nodes. Returns the result, and the live nodes by number: drop these soon."""
        live, edges = discover(roots)
        tokens = self._tokens(live)
        self._nodes.walked(live, tokens)
        numbers = {token.uid: number for number, token in enumerate(tokens)}
        sequence = [node._sequence_nr() for node in live]
        variables = {
            number: live[number].variable
            for number, seq in enumerate(sequence)
            if seq == UNNUMBERED and hasattr(live[number], "variable")
        }
        for number in variables:
            tokens[number].is_of_a_leaf()
        base = min(sequence, default=0)
        if base == UNNUMBERED:
            base = 0
        relative = [-1 if seq == UNNUMBERED else seq - base for seq in sequence]
        look = self._look(live, tokens, relative, variables, derivations_of(tokens, numbers), edges)
        graph, tensors = self._recall(look, live, tokens, variables)
        leaves = {id(variable): number for number, variable in variables.items()}
        return WalkedGraph(graph, tensors, base, numbers, leaves), live

    def _tokens(self, live: list[Any]) -> list[Token]:
        tokens = [node.metadata.get(KEY) for node in live]
        known = set(map(type, tokens)) <= {Token, DerivedToken}
        if not known or min((token.uid for token in tokens), default=Token.first) < Token.first:
            for number, node in enumerate(live):
                tokens[number] = token_of(node) or self._nodes.adopt(node)  # made before the recording began
        return tokens

    def _look(
        self,
        live: list[Any],
        tokens: list[Token],
        sequence: list[int],
        variables: dict[int, Any],
        derivations: list[tuple[int, int, int, int]],
        edges: Edges,
    ) -> GraphSignature:
        calls = [token.call for token in tokens]
        for number in variables:
            calls[number] = None
        roots = [0 if call is None else call.root for call in calls]
        ranks = {root: rank for rank, root in enumerate(sorted(set(roots)))}
        return GraphSignature(
            kinds=[type(node) for node in live],
            stacks=[token.stack for token in tokens],
            operators=[token.operator for token in tokens],
            threads=[token.thread for token in tokens],
            places=[0 if call is None else call.place for call in calls],
            roots=[ranks[root] for root in roots],
            sequence=sequence,
            leaves=[self._sink.string(self._names.leaf(variable)) for variable in variables.values()],
            leaf_numbers=list(variables),
            shapes=_shapes(live),
            derivations=derivations,
            edges=edges,
        )

    def _recall(
        self, look: GraphSignature, live: list[Any], tokens: list[Token], variables: dict[int, Any]
    ) -> tuple[int, int]:
        """The interned ids of a graph that may have been seen before."""
        for one in tuple(self._remembered):  # other threads put theirs in
            if one.is_like(look, live):
                return self._again(one, look, live, variables)
        graph = self._structures.take(look, live, tokens)
        tensors = self.contents.take(live, _leaf_storages(look, variables))
        self._remembered.appendleft(Remembered(look, live, graph, tensors))
        return graph, tensors

    def _again(
        self, one: Remembered, look: GraphSignature, live: list[Any], variables: dict[int, Any]
    ) -> tuple[int, int]:
        """The same graph again. What the nodes save follows from it, but not by necessity: look now and then."""
        if one.repeats is not None:
            one.repeats += 1
            if one.repeats > 2 and one.repeats % _LOOK_AGAIN:
                return one.graph, one.tensors
        tensors = self.contents.take(live, _leaf_storages(look, variables))
        if tensors != one.tensors:
            one.repeats, one.tensors = None, tensors
        return one.graph, tensors


def discover(roots: Iterable[Any]) -> tuple[list[Any], Edges]:
    """The nodes reachable from the roots, breadth first, and the edges."""
    live = list(dict.fromkeys(roots))
    index = {node: number for number, node in enumerate(live)}
    counts: list[int] = []
    targets: list[int] = []
    inputs: list[int] = []
    for node in live:  # grows while it is walked
        following = node.next_functions
        counts.append(len(following))
        for target, input_nr in following:
            number = -1 if target is None else index.get(target)
            if number is None:
                number = index[target] = len(live)
                live.append(target)
            targets.append(number)
            inputs.append(input_nr)
    return live, Edges(counts, targets, inputs)


def _shapes(live: list[Any]) -> list[Any]:
    """The shape of each gradient that each node receives."""
    try:
        return [meta.shape for node in live for meta in node._input_metadata]
    except RuntimeError as error:  # a nested tensor of the C++ kind has none
        let_through(error)
        return [meta.shape for node in live for meta in node._input_metadata if not meta.is_cpp_nested_tensor]


def _leaf_storages(look: GraphSignature, variables: dict[int, Any]) -> dict[int, int]:
    """The name of each leaf by the identity of its storage."""
    names = zip(variables.values(), look.leaves, strict=True)
    found = {storage_of(variable)[0]: name for variable, name in names if isinstance(variable, torch.Tensor)}
    found.pop(0, None)
    return found
