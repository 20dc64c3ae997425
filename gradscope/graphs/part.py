"""A part of a graph as a graph of its own: its nodes numbered anew, what led elsewhere left out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from gradscope.model.graph import Graph, Node, Parent, Root


def part(graph: Graph, keep: Callable[[Node], bool]) -> Graph:
    """The nodes that are kept and the edges among them. Their order stays that of the whole backward."""
    kept = [node for node in graph.nodes if keep(node)]
    numbers = {node.id: number for number, node in enumerate(kept)}
    nodes = tuple(replace(node, id=numbers[node.id], parent=_parent(node, numbers)) for node in kept)
    edges = tuple(
        replace(edge, source=numbers[edge.source], target=numbers[edge.target])
        for edge in graph.edges
        if edge.source in numbers and edge.target in numbers
    )
    firings = tuple(
        replace(firing, node=None if firing.node is None else numbers[firing.node])
        for firing in graph.firings
        if firing.node is None or firing.node in numbers
    )
    call = replace(graph.backward, roots=_roots(graph.backward.roots, numbers), inputs=_inputs(graph, numbers))
    return Graph(nodes, edges, call, firings)


def of_level(graph: Graph, level: int) -> Graph:
    """The nodes that belong to one torch.func level; 0: those that belong to none."""
    return part(graph, partial(_is_of_level, level))


def numbers_of_level(graph: Graph, level: int) -> dict[int, int]:
    """The ids that the nodes of a graph have in the part that `of_level` gives."""
    kept = (node.id for node in graph.nodes if _is_of_level(level, node))
    return {node: number for number, node in enumerate(kept)}


def _is_of_level(level: int, node: Node) -> bool:
    return (node.levels[-1].number if node.levels else 0) == level


def _parent(node: Node, numbers: dict[int, int]) -> Parent | None:
    if node.parent is None or node.parent.node is None:
        return node.parent
    return replace(node.parent, node=numbers.get(node.parent.node))


def _roots(roots: tuple[Root, ...], numbers: dict[int, int]) -> tuple[Root, ...]:
    return tuple(
        replace(root, node=numbers[root.node]) for root in roots if root.node is not None and root.node in numbers
    )


def _inputs(graph: Graph, numbers: dict[int, int]) -> tuple[Root, ...] | None:
    return None if graph.backward.inputs is None else _roots(graph.backward.inputs, numbers)
