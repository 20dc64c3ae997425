"""GS807, met by its value: a Kullback-Leibler divergence that is negative, which none of two distributions is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.doubled_activations import is_of_divergence
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.graph import Graph, Node

_LOGARITHMS = ("LogBackward", "LogSoftmaxBackward", "LogSigmoidBackward", "LogsumexpBackward", "Log1PBackward")
_HANDS_ON = ("Sum", "Mean", "Div")  # what may be made of it: a factor could be negative, and something taken off
_FAR = 8  # nodes in front of it, among which no logarithm is
_TIMES, _CLEARLY = 3, -1e-3


def negative_divergence(case: Case) -> Iterator[Cause]:
    """A loss that is a kl_div and nothing else, and is negative each time: its input is no logarithm."""
    losses = case.losses()
    first = [number for number in case.graph_sizes() if number in losses][:_TIMES]
    if len(first) < _TIMES or any(losses[number] > _CLEARLY for number in first):
        return
    graph = case.graph(first[0])
    node = _divergence(graph)
    given = None if node is None else _input(graph, node)
    if node is None or given is None or given.site is None or _is_logarithm(graph, given):
        return
    called = (Related("called_at", node.site, "kl_div"),) if node.site not in (None, given.site) else ()
    yield Cause(
        f"a divergence cannot be negative, and this one is {losses[first[0]]:.3g}: kl_div wants logarithms",
        given.site,
        called,
        node=given.id,
        backward=first[0],
        certain=False,
    )


def _divergence(graph: Graph) -> Node | None:
    """The deepest node of a kl_div that is all of the loss: up to the root there are only sums."""
    following: dict[int, list[int]] = defaultdict(list)
    for edge in graph.edges:
        following[edge.source].append(edge.target)
    at, found = 0, None
    while (inside := is_of_divergence(graph.nodes[at])) or (found is None and _is_sum(graph.nodes[at])):
        found = graph.nodes[at] if inside else found
        if len(following[at]) != 1:
            break
        at = following[at][0]
    return found


def _is_sum(node: Node) -> bool:
    return node.short_name.startswith(tuple(f"{one}Backward" for one in _HANDS_ON))


def _input(graph: Graph, node: Node) -> Node | None:
    return next((graph.nodes[edge.target] for edge in graph.edges if edge.source == node.id), None)


def _is_logarithm(graph: Graph, node: Node) -> bool:
    """Whether a logarithm is among the nodes right before one."""
    front = {node.id}
    for _ in range(_FAR):
        if any(graph.nodes[one].short_name.startswith(_LOGARITHMS) for one in front):
            return True
        front = {edge.target for edge in graph.edges if edge.source in front}
    return False
