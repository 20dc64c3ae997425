"""Stories by hand: a run with findings, sources, several backward calls and measurements."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from gradscope.model.finding import Finding, Related, Severity
from gradscope.model.graph import Edge, Graph, Node
from gradscope.model.module import ModuleCall
from gradscope.model.site import Site
from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.view.replay import Recorded
from gradscope.view.story import Story
from tests import by_hand

FILE = f"{by_hand.FOLDER}/train.py"
SOURCE = "\n".join(f"line {number} of the program" for number in range(1, 50))
FINDING = Finding(
    "GS701",
    "inplace-on-saved",
    Severity.ERROR,
    "AddmmBackward0 had saved its mat1; then relu_ edited it in place",
    "use relu",
    Site(FILE, 20, "forward"),
    (Related("saved_at", Site(FILE, 18, "forward"), "AddmmBackward0"),),
    node=2,
    backward=0,
)


def call(graph: Graph, number: int, scale: float = 1.0) -> Recorded:
    """A backward call with everything measured."""
    ran = [node for node in graph.nodes if node.order is not None]
    return Recorded(
        replace(graph, backward=replace(graph.backward, number=number)),
        tuple(NodeRun(node.id, node.order or 0, 0, 0.0, 1e-4 * (node.id + 1)) for node in ran),
        tuple(GradientStatistics(node.id, "in", 0, scale / (node.id + 1), 1.0, 0.25, 0, 0) for node in ran),
        tuple((node.id, "aten.mm.default") for node in ran if node.id % 2),
    )


def several() -> Story:
    """Two calls of one graph and one of another."""
    other = by_hand.chain(4)
    calls = (call(other, 0), call(by_hand.small(), 1), call(by_hand.small(), 2, 10.0))
    return Story(calls, 2, by_hand.RUN, "train.gscope", alike=(0, 1, 1))


def with_finding() -> Story:
    """A run that failed, with its source."""
    return Story(
        (call(by_hand.small(), 0),),
        0,
        by_hand.RUN,
        "train.gscope",
        findings=(FINDING,),
        sources={FILE: SOURCE},
    )


def fan(width: int) -> Graph:
    """One node that leads to many."""
    nodes = [Node(number, "MulBackward0", width - number, by_hand.line(3)) for number in range(width + 1)]
    return by_hand.measured(nodes, [Edge(0, number, number) for number in range(1, width + 1)])


def ladder(rungs: int) -> Graph:
    """A chain of a line for each node (no loop made it), each node of which also sends to the one after the next."""
    nodes = [Node(number, "AddBackward0", rungs - number, by_hand.line(3 + number)) for number in range(rungs)]
    edges = [Edge(one, other) for one, other in pairwise(range(rungs))]
    return by_hand.measured(nodes, edges + [Edge(one, one + 2, 1) for one in range(rungs - 2)])


def modules(count: int, size: int, name: str = "Layer") -> Graph:
    """Calls of one module after the other, each a ladder of its own inside; `name` is its class."""
    net = ModuleCall("", "Net")
    calls = [ModuleCall(f"layers.{number}", name, net, number) for number in range(count)]
    graph = ladder(count * size)
    nodes = tuple(replace(node, module=calls[node.id // size]) for node in graph.nodes)
    return replace(graph, nodes=nodes)
