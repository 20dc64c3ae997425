"""Finds a softmax, sigmoid or ReLU directly in front of what must not come after it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import count, takewhile

from gradscope.explain.evidence.case import Case
from gradscope.model.graph import Graph, Node
from gradscope.model.site import Origin, Site

Row = tuple[str, int, tuple[str, ...], str]  # of the loss, its operand, what comes before it, and why that is wrong
_GRAPHS, _LINES = 4, 8  # unlike graphs that are looked at: the first and the last of each line that calls backward
_JOINS = ("Cat", "Stack")
_SAME_VALUES = (
    "UnsafeSplit",
    "Split",
    "SplitWithSizes",
    "Unbind",
    "Narrow",
    "Index",
    "IndexSelect",
    "MaskedSelect",
    "Gather",
    "Flip",
    "Repeat",
    "ReshapeAlias",
    "UpsampleNearest1D",
    "UpsampleNearest2D",
    "UpsampleLinear1D",
    "UpsampleBilinear2D",
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
    for graph in map(case.graph, _unlike_of_lines(case)):
        ways = following(graph)
        for node in graph.nodes:
            for name, place, before, why in table:
                if node.name.startswith(name) and (place == 0 or is_of_divergence(node)):
                    other = behind(graph, ways, node, place)
                    if other is not None and other.name.startswith(before):
                        yield graph, node, other, why


def _unlike_of_lines(case: Case) -> list[int]:
    """The backward calls of each line that calls it whose graphs are unlike those before, the first and the last ones.

    A program may train one thing after another, and a term may join the loss late.
    """
    sizes, like, numbers = case.graph_sizes(), case.like(), defaultdict[Site | None, dict[int, None]](dict)
    for call in case.backwards():
        if call.number in sizes and (len(numbers) < _LINES or call.site in numbers):
            numbers[call.site].setdefault(like.get(call.number, call.number))
    chosen = ([*found][at] for found in numbers.values() for at in _ends(len(found)))
    return sorted(one for one in set(chosen) if one in sizes)


def _ends(number: int) -> list[int]:
    """The first and the last places of so many."""
    return sorted({*range(min(_GRAPHS, number)), *range(max(number - _GRAPHS, 0), number)})


def following(graph: Graph) -> dict[tuple[int, int], int]:
    """The node that made each operand: by the node that reads it, and the operand's place."""
    return {(edge.source, edge.output): edge.target for edge in graph.edges}


def behind(graph: Graph, ways: Mapping[tuple[int, int], int], node: Node, place: int) -> Node | None:
    """The node of an operand, by its place, through those that only show its values in another form.

    Of what is put together of several, the first, where all are of one kind.
    """
    found, waiting, seen = list[Node](), [(node.id, place)], set[int]()
    while waiting:
        if waiting[-1] not in ways:
            return None  # a leaf, or a part without a graph
        one = graph.nodes[ways[waiting.pop()]]
        if one.id in seen:
            continue
        seen.add(one.id)
        if _kind(one) in _JOINS:
            waiting += _operands(ways, one)
        elif _kind(one) in _SAME_VALUES or _is_dropout(one):
            waiting.append((one.id, 0))
        else:
            found.append(one)
    return found[0] if len({one.name for one in found}) == 1 else None


def _operands(ways: Mapping[tuple[int, int], int], node: Node) -> list[tuple[int, int]]:
    """The places of what a node puts together, which are numbered without gaps where all have a graph."""
    found = [(node.id, place) for place in takewhile(lambda at: (node.id, at) in ways, count())]
    return found[::-1]


def _kind(node: Node) -> str:
    return node.name.rstrip("0123456789").removesuffix("Backward")


def _is_dropout(node: Node) -> bool:
    """Whether a node was made in torch's dropout, which multiplies by a mask."""
    return _kind(node) == "NativeDropout" or (_kind(node) == "Mul" and _is_made_in(node, "dropout"))


def is_of_divergence(node: Node) -> bool:
    """Whether a node was made in torch's kl_div, which subtracts and multiplies."""
    return _is_made_in(node, "kl_div")


def _is_made_in(node: Node, function: str) -> bool:
    return any(site.function == function and site.origin is Origin.TORCH for site in node.stack)
