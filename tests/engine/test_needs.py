"""What a call asks of each node, against torch's nodes themselves."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch

from gradscope.engine.needs import needs_input_grad, spared, sums
from gradscope.engine.order import predict
from tests.engine.live import live_graph, observing
from tests.engine.programs import OPERATIONS, apply, random_tensors


def leaf() -> torch.Tensor:
    return torch.randn(3, 3, requires_grad=True)


def test_a_built_in_node_is_spared_what_inputs_do_not_ask_for() -> None:
    left, right = leaf(), leaf()
    product = left @ right
    live = live_graph([product], [left], "grad")
    prediction = predict(live.graph)
    assert needs_input_grad(live.graph, prediction)[0] == (True, False)
    assert [edge.output for edge in spared(live.graph, prediction)] == [1]
    with observing(live) as observed:
        torch.autograd.grad(product, [left], torch.ones(3, 3))
    assert (observed.edges[0, 0], observed.edges[0, 1]) == (True, False)


def test_a_custom_function_is_not_told() -> None:
    seen: list[Any] = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            return left * right

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> Any:
            seen.append(ctx.needs_input_grad)
            return gradient, gradient

    left, right = leaf(), leaf()
    product = Product.apply(left, right)
    live = live_graph([product], [left], "grad")
    assert needs_input_grad(live.graph, predict(live.graph))[0] == (True, False)
    with observing(live) as observed:
        torch.autograd.grad(product, [left], torch.ones(3, 3))
    assert seen == [(True, True)]
    assert (observed.edges[0, 0], observed.edges[0, 1]) == (True, True)


def test_gradients_of_several_uses_are_added_in_the_order_of_their_nodes() -> None:
    x = leaf()
    y = x.sin()
    uses = (y * 2, y.exp(), y.cos())
    live = live_graph([torch.stack(uses).sum()])
    prediction = predict(live.graph)
    (found,) = sums(live.graph, prediction.order, prediction)
    names = [live.graph.nodes[edge.source].name for edge in found.sources]
    assert live.graph.nodes[found.node].name == "SinBackward0"
    assert names == ["CosBackward0", "ExpBackward0", "MulBackward0"]


class Additions(torch.utils._python_dispatch.TorchDispatchMode):
    """Counts additions in a backward whose nodes themselves add nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, operator: Any, types: Any, arguments: Any = (), keywords: Any = None) -> Any:
        self.count += str(operator) in ("aten.add.Tensor", "aten.add_.Tensor")
        return operator(*arguments, **(keywords or {}))


@pytest.mark.parametrize("seed", range(30))
def test_as_many_additions_as_torch_makes(seed: int) -> None:
    choose = random.Random(seed)
    plain = [operation for operation in OPERATIONS[:8] if operation is not apply]
    pool = random_tensors(choose, tuple(plain), 20)
    inputs = choose.sample(pool, 2) if seed % 2 else None
    outputs = [tensor.sum() for tensor in pool[-2:]]
    live = live_graph(outputs, inputs, "grad" if inputs else "backward")
    prediction = predict(live.graph)
    with Additions() as additions:
        if inputs:
            torch.autograd.grad(outputs, inputs, allow_unused=True)
        else:
            torch.autograd.backward(outputs)
    found = sums(live.graph, prediction.order, prediction)
    assert additions.count == sum(len(each.sources) - 1 for each in found)
