"""Live autograd graphs as model graphs, and what the real engine does with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch

from gradscope.engine.heap import LAST_SEQ_NR
from gradscope.model.graph import Backward, Edge, Graph, Node, Root


@dataclass
class Live:
    """A model graph beside the torch nodes it was made from: `nodes[i]` is node i."""

    graph: Graph
    nodes: list[torch.autograd.graph.Node]


@dataclass
class Observed:
    """What ran: (graph task, id) in order, and for each edge of a node whether a gradient came out there."""

    ran: list[tuple[int, int]] = field(default_factory=list)
    edges: dict[tuple[int, int], bool] = field(default_factory=dict)

    @property
    def order(self) -> tuple[int, ...]:
        """Ids in order, without what a nested backward ran: it can share leaves, and has a greater task number."""
        own = min((task for task, _ in self.ran), default=0)
        return tuple(node for task, node in self.ran if task == own)


def live_graph(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor] | None = None,
    kind: str = "backward",
) -> Live:
    """Walk from the outputs and number the nodes in the order of discovery."""
    roots = [torch.autograd.graph.get_gradient_edge(output) for output in outputs]
    ids: dict[torch.autograd.graph.Node, int] = {}
    pending = [root.node for root in reversed(roots)]
    while pending:
        node = pending.pop()
        if node not in ids:
            ids[node] = len(ids)
            pending.extend(target for target, _ in reversed(node.next_functions) if target is not None)
    edges = tuple(
        Edge(ids[node], ids[target], output, input_nr)
        for node in ids
        for output, (target, input_nr) in enumerate(node.next_functions)
        if target is not None
    )
    backward = Backward(
        0,
        kind=kind,
        roots=tuple(Root(ids[root.node], root.output_nr) for root in roots),
        inputs=None if inputs is None else tuple(_input_root(tensor, ids) for tensor in inputs),
    )
    return Live(Graph(tuple(_model_node(node, number) for node, number in ids.items()), edges, backward), list(ids))


def _model_node(node: torch.autograd.graph.Node, number: int) -> Node:
    seq_nr = node._sequence_nr()
    return Node(number, node.name(), None if seq_nr == LAST_SEQ_NR else seq_nr)


def _input_root(tensor: torch.Tensor, ids: dict[torch.autograd.graph.Node, int]) -> Root:
    edge = torch.autograd.graph.get_gradient_edge(tensor)
    return Root(ids.get(edge.node), edge.output_nr)


@contextmanager
def observing(live: Live) -> Iterator[Observed]:
    """Note what the engine runs; the hooks are gone afterwards."""
    observed = Observed()
    handles = []
    for number, node in enumerate(live.nodes):
        handles.append(node.register_prehook(_prehook(observed, number)))
        handles.append(node.register_hook(_posthook(observed, number)))
    try:
        yield observed
    finally:
        for handle in handles:
            handle.remove()


def _prehook(observed: Observed, number: int) -> Callable[..., None]:
    def note(_gradients: object) -> None:
        observed.ran.append((torch._C._current_graph_task_id(), number))

    return note


def _posthook(observed: Observed, number: int) -> Callable[..., None]:
    def note(grad_inputs: Sequence[torch.Tensor | None], _grad_outputs: object) -> None:
        observed.edges.update({(number, output): gradient is not None for output, gradient in enumerate(grad_inputs)})

    return note
