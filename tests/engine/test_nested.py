"""Re-entrant backwards share the heap of the backward they start in: walked together, both orders are exact."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import torch

from gradscope.engine.heap import Task
from gradscope.engine.nested import orders
from gradscope.engine.order import steps
from gradscope.model.graph import Graph
from tests.engine.live import Observed, live_graph, observing
from tests.engine.programs import OPERATIONS, make_ties, random_tensors, reentrant

Nested = dict[int, tuple[Graph, Observed]]


def watch_nested(monkeypatch: pytest.MonkeyPatch, choose: random.Random, numbers: Mapping[Any, int]) -> Nested:
    """Observe the backwards that nodes of the outer graph start, with ties among their nodes, by outer node."""
    nested: Nested = {}
    run = torch.autograd._engine_run_backward  # type: ignore[attr-defined]  # torch imports it by name

    def watched(outputs: Any, *arguments: Any, **options: Any) -> Any:
        starter = torch._C._current_autograd_node()
        if starter is None:
            return run(outputs, *arguments, **options)
        make_ties(choose, live_graph(outputs).nodes)
        live = live_graph(outputs)
        with observing(live) as observed:
            result = run(outputs, *arguments, **options)
        nested[numbers[starter]] = (live.graph, observed)
        return result

    monkeypatch.setattr(torch.autograd, "_engine_run_backward", watched)
    return nested


@pytest.mark.parametrize("seed", range(100))
def test_orders_with_ties(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    choose = random.Random(seed)
    pool = random_tensors(choose, (*OPERATIONS, *[reentrant] * 8))
    outputs = choose.choices(pool[-8:], k=choose.choice([1, 2, 4]))
    make_ties(choose, live_graph(outputs).nodes)
    live = live_graph(outputs)
    nested = watch_nested(monkeypatch, choose, {node: number for number, node in enumerate(live.nodes)})
    with observing(live) as observed:
        torch.autograd.backward(outputs, [torch.ones_like(output) for output in outputs])

    order = []
    queue: list[Task] = []
    for step in steps(live.graph, queue):
        order.append(step.node)
        if step.node in nested:
            inner, inner_observed = nested[step.node]
            assert tuple(inner_step.node for inner_step in steps(inner, queue, depth=1)) == inner_observed.order
    assert tuple(order) == observed.order
    assert queue == []

    numbered = {
        node: replace(inner, backward=replace(inner.backward, number=node + 1)) for node, (inner, _) in nested.items()
    }
    together = orders(live.graph, {(0, node): (inner,) for node, inner in numbered.items()})
    assert together == {0: observed.order, **{node + 1: seen.order for node, (_, seen) in nested.items()}}
