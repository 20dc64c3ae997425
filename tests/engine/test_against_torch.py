"""The predicted order against the order in which torch's engine really runs random graphs."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
import torch

from gradscope.engine.order import predict
from tests.engine.live import Live, live_graph, observing
from tests.engine.programs import OPERATIONS, make_ties, random_tensors, reentrant

Tensors = Sequence[torch.Tensor]


def run_engine(outputs: Tensors, inputs: Tensors | None, kind: str, create_graph: bool) -> Tensors:
    ones = [torch.ones_like(output) for output in outputs]
    if kind == "backward":
        torch.autograd.backward(outputs, ones, retain_graph=True, inputs=inputs)
        return ()
    gradients = torch.autograd.grad(
        outputs, inputs or (), ones, retain_graph=True, create_graph=create_graph, allow_unused=True
    )
    return [gradient for gradient in gradients if gradient is not None and gradient.requires_grad]


def assert_predicted(live: Live, outputs: Tensors, inputs: Tensors | None, create_graph: bool = False) -> Tensors:
    with observing(live) as observed:
        gradients = run_engine(outputs, inputs, live.graph.backward.kind, create_graph)
    prediction = predict(live.graph)
    assert prediction.order == observed.order
    assert prediction.exact
    assert_edges(live, prediction.edges, observed.edges)
    return gradients


def assert_edges(live: Live, predicted: frozenset[tuple[int, int]], observed: dict[tuple[int, int], bool]) -> None:
    """Built-in nodes compute only the gradients that they are asked for; functions written in Python compute all."""
    for edge in live.graph.edges:
        key = (edge.source, edge.output)
        if key in observed and not isinstance(live.nodes[edge.source], torch.autograd.function.BackwardCFunction):
            assert observed[key] == (key in predicted), live.graph.nodes[edge.source].name


@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("mode", ["everything", "reentrant", "backward", "grad"])
def test_random_graphs(seed: int, mode: str) -> None:
    choose = random.Random(f"{mode} {seed}")
    pool = random_tensors(choose, (*OPERATIONS, *[reentrant] * 4) if mode == "reentrant" else OPERATIONS)
    outputs = choose.choices(pool[-8:] + pool[:1], k=choose.choice([1, 1, 2, 4]))
    inputs = choose.choices(pool, k=choose.choice([1, 2, 4])) if mode in ("backward", "grad") else None
    if mode != "reentrant" and seed % 2:  # ties and nested runs together: test_nested.py
        make_ties(choose, live_graph(outputs).nodes)
    live = live_graph(outputs, inputs, "grad" if mode == "grad" else "backward")
    gradients = assert_predicted(live, outputs, inputs, create_graph=seed % 4 < 2)
    assert_predicted(live, outputs, inputs)  # once more over the retained graph
    if gradients:  # double backward
        assert_predicted(live_graph(gradients, pool[:4], "grad"), gradients, pool[:4])
