"""Gradients that are gone stop a training only where the loss is far from zero and no minimum explains them."""

import pytest

STOPS = '''"""A gate whose input is {shift} after 20 steps; the rest of the loss is `first`, then `late` or `other`."""

import torch

weight = torch.nn.Parameter(torch.zeros(64))
for step in range(48):
    weight.grad = None
    gate = torch.sigmoid(weight + ({shift} if step >= 20 else 0.0))
    rest = {first} + 0.01 * (step % 2) if step < 20 else {late} if step % 2 else {other}
    (gate.mean() + rest).backward()
'''
FOUND = {
    "losses of batches differ": (40.0, 4.0, 1.0, 1.2, True),
    "the loss is no better than those of batches were": (40.0, 0.5, 0.5, 0.5, True),
    "a gradient is left": (12.0, 4.0, 1.0, 1.2, False),
    "every batch has one loss, and a better one": (40.0, 4.0, 1.0, 1.0, False),
    "the loss is nearly zero": (40.0, 4.0, -0.8, -0.7, False),
}


@pytest.mark.parametrize(("shift", "first", "late", "other", "told"), FOUND.values(), ids=list(FOUND))
def test_gradients_that_are_gone(explained, tmp_path, shift, first, late, other, told):
    script = tmp_path / "stops.py"
    script.write_text(STOPS.format(shift=shift, first=first, late=late, other=other))
    assert ("GS871" in [one.code for one in explained(script).findings]) is told


FITTED = '''"""A logistic regression of labels that say next to nothing, fitted as a whole from {begin}."""

import torch

torch.manual_seed(0)
x = torch.randn(200, 3, dtype=torch.float64)
y = (torch.rand(200) < 0.5 + 0.03 * x[:, 0].sign()).double()
weight = torch.nn.Parameter({begin} * torch.ones(3, dtype=torch.float64))
optimizer = torch.optim.SGD([weight], lr=4.0)
for _ in range(260):
    optimizer.zero_grad()
    torch.nn.functional.binary_cross_entropy_with_logits(x @ weight, y).backward()
    optimizer.step()
'''


@pytest.mark.parametrize("begin", ["0.0", "0.01"])
def test_a_minimum_that_is_hardly_better_is_healthy(explained, tmp_path, begin):
    script = tmp_path / "fitted.py"
    script.write_text(FITTED.format(begin=begin))
    assert explained(script).findings == ()
