"""Other inputs and other priorities, against the engine asked for the same."""

from __future__ import annotations

import random

import pytest
import torch

from gradscope.engine.change import with_inputs, with_priorities
from gradscope.engine.compare import moves
from gradscope.engine.order import predict
from tests.engine.live import live_graph, observing
from tests.engine.programs import OPERATIONS, random_tensors


@pytest.mark.parametrize("seed", range(40))
def test_priorities_do_what_set_sequence_nr_does(seed: int) -> None:
    choose = random.Random(seed)
    output = random_tensors(choose, OPERATIONS)[-1].sum()
    live = live_graph([output])
    numbers = {node: choose.randrange(10**6) for node in choose.sample(range(len(live.nodes)), 3)}
    changed = with_priorities(live.graph, numbers)
    for node, number in numbers.items():
        live.nodes[node]._set_sequence_nr(number)  # type: ignore[attr-defined]
    with observing(live) as observed:
        output.backward()
    assert predict(changed).order == observed.order


@pytest.mark.parametrize("seed", range(40))
def test_inputs_do_what_backward_with_inputs_does(seed: int) -> None:
    choose = random.Random(seed)
    pool = random_tensors(choose, OPERATIONS)
    output = pool[-1].sum()
    inputs = choose.sample(pool, 2)
    live, asked = live_graph([output]), live_graph([output], inputs)
    nodes = [root.node for root in asked.graph.backward.inputs or () if root.node is not None]
    with observing(live) as observed:
        output.backward(inputs=inputs)  # type: ignore[no-untyped-call]
    assert predict(with_inputs(live.graph, nodes)).order == observed.order


def test_a_communication_can_be_launched_before_the_dense_work() -> None:
    """The later a node was made the earlier it runs, unless it gets a greater number."""
    x = torch.ones(2, requires_grad=True)
    communication = x.sin()
    dense = x.exp().exp().exp()
    live = live_graph([communication + dense])
    before = predict(live.graph).order
    sine = next(node.id for node in live.graph.nodes if node.name == "SinBackward0")
    after = predict(with_priorities(live.graph, {sine: 10**9})).order
    assert before.index(sine) == 4
    assert after.index(sine) == 1
    assert [(move.before, move.after) for move in moves(before, after)] == [(4, 1), (1, 2), (2, 3), (3, 4)]
