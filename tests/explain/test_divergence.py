"""How much weights must have grown before an overflow, in how many steps, to be told as why; else where it was born."""

import pytest

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
    assert [one.code == "GS737" for one in explained(script).findings] == [told]


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
