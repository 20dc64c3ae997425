"""Which gradients a call asks of each node, and where gradients of several uses are added.

The surprise: ctx.needs_input_grad of a custom Function tells what the forward needed, not what this call asks for. So
`inputs=` spares built-in nodes work, and a Function of the user's none (torch 2.13).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from gradscope.engine.order import Prediction
from gradscope.model.graph import Edge, Graph


@dataclass(frozen=True, slots=True)
class Sum:
    """Several gradients meet at input `input_nr` of a node; `sources` are in the order in which they arrive."""

    node: int
    input_nr: int
    sources: tuple[Edge, ...]


def needs_input_grad(graph: Graph, prediction: Prediction) -> dict[int, tuple[bool, ...]]:
    """For each node that runs, whether the call asks for the gradient at each of its outputs."""
    outputs: dict[int, int] = defaultdict(int)
    for edge in graph.edges:
        outputs[edge.source] = max(outputs[edge.source], edge.output + 1)
    return {
        node: tuple((node, output) in prediction.edges for output in range(outputs[node])) for node in prediction.order
    }


def spared(graph: Graph, prediction: Prediction) -> tuple[Edge, ...]:
    """Edges of nodes that run, along which no gradient is asked for: built-in nodes do not compute it."""
    ran = frozenset(prediction.order)
    return tuple(
        edge for edge in graph.edges if edge.source in ran and (edge.source, edge.output) not in prediction.edges
    )


def sums(graph: Graph, order: Sequence[int], prediction: Prediction) -> tuple[Sum, ...]:
    """Where gradients are added. The engine adds each as it arrives, so the order of the nodes decides the rounding."""
    places = {node: position for position, node in enumerate(order)}
    arriving: dict[tuple[int, int], list[Edge]] = defaultdict(list)
    for edge in sorted(graph.edges, key=lambda edge: (places.get(edge.source, -1), edge.output)):
        if (edge.source, edge.output) in prediction.edges:
            arriving[edge.target, edge.input_nr].append(edge)
    return tuple(Sum(*place, tuple(edges)) for place, edges in sorted(arriving.items()) if len(edges) > 1)
