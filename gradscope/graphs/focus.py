"""The neighbourhood of a node."""

from __future__ import annotations

from collections import defaultdict

from gradscope.model.graph import Graph


def around(graph: Graph, focus: int, radius: int) -> frozenset[int]:
    """The ids of the nodes at most `radius` edges away, whichever way the edges run."""
    beside: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        beside[edge.source].append(edge.target)
        beside[edge.target].append(edge.source)
    found = {focus}
    border = [focus]
    for _ in range(radius):
        border = list({other for node in border for other in beside[node]} - found)
        if not border:
            break
        found.update(border)
    return frozenset(found)
