"""Adds the gradients that meet at one input of a node, as the engine does, for an order other than the recorded one.

In the recorded order the stored additions are simply made again. In another order other operands meet.
"""

from __future__ import annotations

from collections import defaultdict

import torch

from gradscope.engine.order import predict
from gradscope.execution.machine import Machine, NotRepeatableError
from gradscope.model.dispatch import Exchange, Phase, Place, StoredBackward
from gradscope.model.graph import Edge, Graph
from gradscope.probes.tensors.storages import digest

_ADDITIONS = ("aten.add.Tensor", "aten.add_.Tensor")
Slot = tuple[int, int]  # node, input


class Sums:
    """`arrive` after each node, `settle` before each: then a node's gradients lie where its operators look for them."""

    def __init__(self, graph: Graph, stored: StoredBackward, machine: Machine) -> None:
        self._machine = machine
        asked = predict(graph).edges
        self._edges: dict[int, list[Edge]] = defaultdict(list)
        for edge in sorted(graph.edges, key=lambda edge: edge.output):
            if (edge.source, edge.output) in asked:
                self._edges[edge.source].append(edge)
        self._places = self._find_places(stored)
        self._totals: dict[Slot, torch.Tensor] = {}

    def arrive(self, exchange: Exchange) -> None:
        """Add what a node passed on to what waits at the nodes behind it."""
        for edge, place in self._sent(exchange):
            slot, gradient = (edge.target, edge.input_nr), self._machine.tensor(place)
            self._totals[slot] = self._totals[slot] + gradient if slot in self._totals else gradient

    def settle(self, node: int) -> bool:
        """Put the sums for a node where they were recorded; whether they are the recorded ones."""
        same = True
        for slot, place in self._places.items():
            if slot[0] == node and slot in self._totals:
                same = same and digest(self._totals[slot]) == place.digest
                self._machine.put(place, self._totals[slot])
        return same

    @property
    def nodes(self) -> frozenset[int]:
        """The nodes at which gradients are added."""
        return frozenset(node for node, _ in self._places)

    def _sent(self, exchange: Exchange) -> list[tuple[Edge, Place]]:
        sent = []
        for edge in self._edges[exchange.node]:
            place = exchange.passed[edge.output] if edge.output < len(exchange.passed) else None
            if place is not None:
                sent.append((edge, place))
        return sent

    def _find_places(self, stored: StoredBackward) -> dict[Slot, Place]:
        """Where each sum was recorded. Raises NotRepeatableError when the additions are not the expected ones."""
        additions = defaultdict(list)
        for dispatch in stored.dispatches:
            if dispatch.phase is Phase.AFTER and dispatch.node is not None:
                additions[dispatch.node].append(dispatch)
        found: dict[Slot, Place] = {}
        arrived: set[Slot] = set()
        for exchange in stored.exchanges:
            left = iter(additions[exchange.node])
            for edge, _ in self._sent(exchange):
                slot = (edge.target, edge.input_nr)
                if slot in arrived:
                    addition = next(left, None)
                    if addition is None or addition.operator not in _ADDITIONS:
                        raise NotRepeatableError("the recorded additions of gradients are not understood")
                    found[slot] = addition.results
                arrived.add(slot)
        return found
