"""Finds a softmax, sigmoid or ReLU directly in front of what must not come after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping

from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Origin, Site

Row = tuple[str, int, tuple[str, ...], str]  # of the loss, its operand, what comes before it, and why that is wrong
_GRAPHS, _LINES = 3, 8  # that are looked at: the first ones of each line that calls backward
_SAME_VALUES = (
    "View",
    "Reshape",
    "UnsafeView",
    "Squeeze",
    "Unsqueeze",
    "Permute",
    "Transpose",
    "T",
    "Clone",
    "ToCopy",
    "Alias",
    "Expand",
    "Select",
    "Slice",
)


def doubled(case: Case, table: tuple[Row, ...]) -> Iterator[tuple[Graph, Node, Node, str]]:
    """Where what a table says comes before what, in the first graphs: the graph, both nodes, and why it is wrong."""
    for graph in map(case.graph, _first_of_lines(case)):
        ways = following(graph)
        for node in graph.nodes:
            for name, place, before, why in table:
                if node.name.startswith(name) and (place == 0 or is_of_divergence(node)):
                    other = behind(graph, ways, node, place)
                    if other is not None and other.name.startswith(before):
                        yield graph, node, other, why


def _first_of_lines(case: Case) -> list[int]:
    """The first backward calls of each line that calls it: a program may train one thing after another."""
    sizes, numbers = case.graph_sizes(), defaultdict[Site | None, list[int]](list)
    for call in case.backwards():
        if call.number in sizes and (len(numbers) < _LINES or call.site in numbers):
            numbers[call.site].append(call.number)
    return sorted(number for found in numbers.values() for number in found[:_GRAPHS])


def following(graph: Graph) -> dict[tuple[int, int], int]:
    """The node that made each operand: by the node that reads it, and the operand's place."""
    return {(edge.source, edge.output): edge.target for edge in graph.edges}


def behind(graph: Graph, ways: Mapping[tuple[int, int], int], node: Node, place: int) -> Node | None:
    """The node of an operand, by its place, through those that only show its values in another form."""
    while (node.id, place) in ways:
        node, place = graph.nodes[ways[node.id, place]], 0
        if node.name.rstrip("0123456789").removesuffix("Backward") not in _SAME_VALUES:
            return node
    return None


def is_of_divergence(node: Node) -> bool:
    """Whether a node was made in torch's kl_div, which subtracts and multiplies."""
    return any(site.function == "kl_div" and site.origin is Origin.TORCH for site in node.stack)
