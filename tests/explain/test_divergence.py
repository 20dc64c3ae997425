"""How much weights must have grown before an overflow, in how many steps, to be told as why; else where it was born."""

import pytest

from gradscope.model.finding import Confidence

GROWS = '''"""Weights that grow in {calls} steps to {times} times what they were, and then overflow."""

import torch

weight = torch.nn.Parameter(torch.full((64,), 0.5))
for step in range({calls}):
    weight.grad = None
    (weight * torch.rand(64)).sum().backward()
    with torch.no_grad():
        weight.mul_({times} ** (1 / {calls}))
weight.grad = None
scores = weight * torch.full((64,), {scale})
scores.{overflow}().mean().backward()
'''
FOUND = [
    (4, 6, "1e25", "square", True),
    (2, 6, "1e25", "square", False),
    (4, 60, "1e25", "square", False),
    (14, 60, "1e25", "square", True),
    (14, 60, "300.0", "exp", True),
    (14, 60, "60.0", "exp", False),
    (140, 60, "2.0", "exp", True),
]


@pytest.mark.parametrize(("times", "calls", "scale", "overflow", "told"), FOUND)
def test_the_growth_is_why_only_where_it_is_large_enough(explained, tmp_path, times, calls, scale, overflow, told):
    script = tmp_path / "grows.py"
    script.write_text(GROWS.format(times=times, calls=calls, scale=scale, overflow=overflow))
    findings = explained(script).findings
    assert [one.code == "GS737" for one in findings] == [told]
    assert (findings[0].confidence is Confidence.CERTAIN) is (times >= 100) or not told


LOSES = '''"""A loss that ends at {last} times what it began with, while its weight grows tenfold."""

import torch

weight = torch.nn.Parameter(torch.ones(64))
for step in range(12):
    weight.grad = None
    (weight * torch.full((64,), 1.0 if step == 0 else {last}) / 64).sum().backward()
    with torch.no_grad():
        weight.mul_(1.3)
'''


@pytest.mark.parametrize(("last", "codes"), [("1e7", ["GS737"]), ("1e3", [])])
def test_a_loss_that_stays_finite_must_end_a_million_times_larger(explained, tmp_path, last, codes):
    script = tmp_path / "loses.py"
    script.write_text(LOSES.format(last=last))
    assert [one.code for one in explained(script).findings] == codes


DERIVES = '''"""A derivative that is not finite, of a finite loss, behind weights that grow."""

import numpy as np
import torch


class Broken(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return torch.from_numpy(np.full(gradient.shape, np.nan, dtype=np.float32))


weight = torch.nn.Parameter(torch.full((64,), 0.5))
for step in range(7):
    weight.grad = None
    x = weight * torch.rand(64)
    (Broken.apply(x) if step == 6 else x).sum().backward()
    with torch.no_grad():
        weight.mul_(2)
'''


def test_a_derivative_is_not_a_growth(explained, tmp_path):
    script = tmp_path / "derives.py"
    script.write_text(DERIVES)
    assert "GS737" not in {one.code for one in explained(script).findings}
