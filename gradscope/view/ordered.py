"""Gives every node that ran its place in backward order: measured when it was recorded, else as the engine decides."""

from __future__ import annotations

from dataclasses import replace

from gradscope.engine.order import predict
from gradscope.model.graph import Graph, OrderSource


def ordered(graph: Graph) -> Graph:
    """The graph with an order on its nodes."""
    if graph.backward.order_source is OrderSource.MEASURED:
        return graph
    places = {node: position for position, node in enumerate(predict(graph).order)}
    return replace(graph, nodes=tuple(replace(node, order=places.get(node.id)) for node in graph.nodes))
