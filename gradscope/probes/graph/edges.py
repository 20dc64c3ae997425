"""Where gradients enter a graph, and where they are asked for: nodes by number, with the number of an input."""

from __future__ import annotations

from typing import Any

import torch
import torch.autograd.graph as graph_module

from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.walked_graph import WalkedGraph


def edge_of(output: Any) -> tuple[Any, int]:
    """The node and input number at which a gradient for a tensor or GradientEdge enters; (None, 0) for none."""
    if not isinstance(output, torch.Tensor):
        return output[0], output[1]
    if output.grad_fn is not None:
        return output.grad_fn, output.output_nr
    if output.requires_grad:
        edge = graph_module.get_gradient_edge(output)
        return edge.node, edge.output_nr
    return None, 0


def entry_of(edge: tuple[Any, int], walked: WalkedGraph) -> list[int | None]:
    """The number of an edge's node in a graph, None when it is not in it, and the input number."""
    node, input_nr = edge
    token = None if node is None else token_of(node)
    return [None if token is None else walked.numbers.get(token.uid), input_nr]


def input_of(one: Any, walked: WalkedGraph) -> list[int | None]:
    """An entry of inputs=. A leaf is looked up among the graph's: asking torch would make an accumulator for it."""
    if isinstance(one, torch.Tensor) and one.grad_fn is None:
        return [walked.leaves.get(id(one)), 0]
    return entry_of(edge_of(one), walked)
