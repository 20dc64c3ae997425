"""Gives every node that ran its place in backward order: measured when it was recorded, else as the engine decides."""

from __future__ import annotations

from dataclasses import replace

from gradscope.engine.order import running_order
from gradscope.model.graph import Graph, OrderSource, at_place


def ordered(graph: Graph) -> Graph:
    """The graph with an order on its nodes, and a mark on the one in which it raised."""
    stopped = graph.backward.stopped
    if stopped is not None:
        marked = (replace(node, raised=True) if node.id == stopped else node for node in graph.nodes)
        graph = replace(graph, nodes=tuple(marked))
    if graph.backward.order_source is OrderSource.MEASURED:
        return graph
    places = {node: position for position, node in enumerate(running_order(graph))}
    return replace(graph, nodes=tuple(at_place(node, places.get(node.id)) for node in graph.nodes))
