"""Where the engine adds gradients before a node runs: its value was used more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gradscope.model.graph import Edge, Graph, Node


def sums(graph: Graph) -> dict[int, int]:
    """How many gradients arrive at one input of a node, at the input with the most; 1 or none are left out."""
    arrivals = Counter((edge.target, edge.input_nr) for edge in graph.edges if not is_pruned(graph.nodes, edge))
    found: dict[int, int] = {}
    for (target, _), count in arrivals.items():
        if count > 1:
            found[target] = max(count, found.get(target, 1))
    return found


def is_pruned(nodes: Sequence[Node], edge: Edge) -> bool:
    """Whether the engine sent no gradient along an edge: one of its ends did not run."""
    return nodes[edge.source].order is None or nodes[edge.target].order is None
