"""GS408, met at run time: a custom Function's backward that writes into the gradient that another node gets, too."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.model.finding import Related
from gradscope.model.flow import FlowOperation
from gradscope.model.graph import Graph, Node
from gradscope.model.operation import base_name

_PASSES_ON = "AddBackward"  # gives one gradient to both summands, where it need not be reduced to a smaller shape


def shared_gradient_written(case: Case) -> Iterator[Cause]:
    """A backward that edits in place what an addition hands to other nodes, too."""
    said: set[str] = set()
    for at, operation in enumerate(dataflow(case).operations):
        node = _node(case, operation)
        if node is None or node.function is None or node.function.name in said or not _came_in(case, at):
            continue
        graph = case.graph(operation.backward or 0)
        for source, other in _shared_with(graph, node):
            said.add(node.function.name)
            yield Cause(
                f"backward of {node.function.bare_name} writes into the gradient that it gets, which {source.name} "
                f"hands to {other.name} as well: that one goes on with the edited values",
                operation.site,
                (
                    Related("class_at", node.function.class_site, node.function.name),
                    Related("shared_at", source.site, f"{source.name} gives one gradient to both"),
                ),
                node=node.id,
                op=base_name(operation.operation.name),
                backward=operation.backward,
                function=node.function.name,
            )
            break


def _node(case: Case, operation: FlowOperation) -> Node | None:
    """The node of a backward that an operator with a line of its own wrote something in."""
    number, place = operation.backward, operation.operation.node
    if not operation.operation.writes or number is None or place is None or operation.site is None:
        return None
    return case.graph(number).nodes[place] if number in case.graph_sizes() else None


def _came_in(case: Case, at: int) -> bool:
    """Whether an operator writes to a tensor that another node of the same backward has made."""
    flow, operation = dataflow(case), dataflow(case).operations[at]
    for written in {one.tensor for one in operation.reads} & set(operation.makes):
        makers = [flow.operations[one] for one in flow.sources(written, at)]
        nodes = {one.operation.node for one in makers if one.backward == operation.backward}
        if nodes and operation.operation.node not in nodes:
            return True
    return False


def _shared_with(graph: Graph, node: Node) -> Iterator[tuple[Node, Node]]:
    """The nodes that hand their gradient on as it is to a node and to another one, and that other one."""
    for edge in graph.edges:
        source = graph.nodes[edge.source]
        if edge.target == node.id and source.name.startswith(_PASSES_ON):
            for other in graph.edges:
                target = graph.nodes[other.target]
                if (
                    other.source == edge.source
                    and other.target != node.id
                    and _shape(source, 0) == _shape(target, other.input_nr)
                ):
                    yield source, target


def _shape(node: Node, place: int) -> tuple[int, ...] | None:
    """The shape of the gradient that a node receives."""
    meta = node.inputs_meta[place] if place < len(node.inputs_meta) else None
    return None if meta is None else meta.shape
