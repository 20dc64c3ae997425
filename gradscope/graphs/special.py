"""Nodes that no box may swallow in silence: custom Functions, those with hooks or that raised, shared parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from operator import attrgetter

from gradscope.model.graph import Graph, Node


def shared_parameters(graph: Graph) -> frozenset[int]:
    """The ids of the nodes that add into a parameter which is used more than once."""
    uses = Counter(map(attrgetter("target"), graph.edges))
    return frozenset(node for node, count in uses.items() if count > 1 and graph.nodes[node].accumulates)


def specials(graph: Graph, shared: frozenset[int]) -> frozenset[int]:
    """The ids of all of them. `shared` are those that `shared_parameters` found."""
    marked = {node.id for node in graph.nodes if node.hooks or node.function is not None or node.raised}
    return shared | marked


def likeness(node: Node, shared: frozenset[int]) -> Hashable:
    """What nodes of one kind have in common: operator, Function, and the lines that registered their hooks."""
    hooks = tuple((hook.kind, hook.name, hook.site) for hook in node.hooks)
    return node.short_name, node.op, node.function, hooks, mark(node, shared)


def mark(node: Node, shared: frozenset[int]) -> Hashable:
    """What sets a node apart, whatever its operator."""
    return node.function is not None, bool(node.hooks), node.id in shared, node.order is None, node.raised
