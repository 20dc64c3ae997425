"""The predicted order against the order in which torch's engine really runs random graphs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from gradscope.engine.order import predict, running_order
from gradscope.model.graph import Root
from tests.engine.live import Live, live_graph, observing
from tests.engine.programs import OPERATIONS, drop, make_ties, random_tensors, reentrant

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
    assert running_order(live.graph) == prediction.order
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


@pytest.mark.parametrize("seed", range(60))
def test_a_gradient_that_is_none_changes_no_order(seed: int) -> None:
    choose = random.Random(f"none {seed}")
    pool = random_tensors(choose, (*OPERATIONS, *[drop] * 4))
    outputs = choose.choices(pool[-8:], k=choose.choice([1, 2]))
    inputs = choose.choices(pool, k=2) if seed % 3 else None
    live = live_graph(outputs, inputs, "grad" if seed % 3 == 1 else "backward")
    with observing(live) as observed:
        run_engine(outputs, inputs, live.graph.backward.kind, create_graph=False)
    assert predict(live.graph).order == observed.order


@pytest.mark.parametrize("seed", range(40))
def test_gradient_edges_as_roots_and_as_inputs(seed: int) -> None:
    choose = random.Random(f"edge {seed}")
    pool = random_tensors(choose, OPERATIONS)
    edge = torch.autograd.graph.get_gradient_edge(pool[-1])
    inputs = [torch.autograd.graph.get_gradient_edge(tensor) for tensor in choose.sample(pool, 2)]
    live = live_graph([pool[-1]])
    numbers = {node: number for number, node in enumerate(live.nodes)}
    roots = tuple(Root(numbers.get(one.node), one.output_nr) for one in inputs)
    graph = replace(live.graph, backward=replace(live.graph.backward, kind="grad", inputs=roots))
    with observing(live) as observed:
        torch.autograd.grad([edge], inputs, [torch.ones(4, 4)], allow_unused=True)
    assert predict(graph).order == observed.order
