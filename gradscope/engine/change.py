"""What if: a recorded backward with other inputs, or with other priorities."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from gradscope.model.graph import Graph, Node, OrderSource, Root


def with_inputs(graph: Graph, nodes: Iterable[int]) -> Graph:
    """The same call with `inputs=` these nodes (for a leaf, its AccumulateGrad); what was measured is dropped."""
    return _predicted(replace(graph, backward=replace(graph.backward, inputs=tuple(Root(node) for node in nodes))))


def with_priorities(graph: Graph, numbers: Mapping[int, int]) -> Graph:
    """The same call after `_set_sequence_nr` on some nodes: a ready node with a greater number runs earlier."""
    nodes = tuple(replace(node, seq_nr=numbers.get(node.id, node.seq_nr)) for node in graph.nodes)
    return _predicted(replace(graph, nodes=nodes))


def _predicted(graph: Graph) -> Graph:
    nodes: tuple[Node, ...] = tuple(replace(node, order=None) for node in graph.nodes)
    call = replace(graph.backward, order_source=OrderSource.PREDICTED, exception=None, stopped=None)
    return replace(graph, nodes=nodes, backward=call)
