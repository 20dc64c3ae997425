"""Gradients that torch computes by another formula under a dispatch mode are seen, with the bits of a plain run."""

import pytest
import torch

import gradscope

FORMULAS = {
    "prod": lambda x: x.prod(),
    "prod of a row": lambda x: x.prod(1).sum(),
    "fill": lambda x: torch.ones(64, 64).masked_fill(torch.arange(64) % 3 == 0, x.flatten()[7]).mul(x).sum(),
}


def gradient(formula):
    torch.manual_seed(0)
    x = (1 + torch.rand(64, 64) / 1000).requires_grad_()
    formula(x).backward()
    return x.grad


@pytest.mark.parametrize("name", FORMULAS)
def test_bits_are_those_of_a_plain_run(tmp_path, name):
    plain = gradient(FORMULAS[name])
    with gradscope.record(tmp_path / "run.gscope", watch_all=True):
        recorded = [gradient(FORMULAS[name]) for _ in range(6)]
    assert all(torch.equal(one, plain) for one in recorded)


def test_their_operators_are_seen(tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        x = torch.rand(3, requires_grad=True)
        (x.exp().prod() * 2).backward()
    with gradscope.load(tmp_path / "run.gscope") as recording:
        (block,) = (one for one in recording.blocks() if one.backward is not None)
        names = {node.id: node.name for node in recording.graph(0).nodes}
    ran = {names[one.node] for one in block.operations if one.node is not None}
    assert {"MulBackward0", "ProdBackward0", "ExpBackward0"} <= ran


def test_operators_are_seen_again_after_such_a_node_has_raised(tmp_path):
    with gradscope.record(tmp_path / "run.gscope"):
        x = torch.rand(3, requires_grad=True)
        y = x * 2
        product = y.prod()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
        torch.cos(x)
    with gradscope.load(tmp_path / "run.gscope") as recording:
        assert "aten.cos.default" in [one.name for block in recording.blocks() for one in block.operations]
