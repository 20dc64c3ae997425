"""Gradients are turned in place and back again around what uses them: a step up, the least of them, a gradient shown.

What is turned once, in one of two passes, or a part at a time, is turned.
"""

import torch
from torch import nn


class UpAndDown(torch.optim.Optimizer):
    """A step up to a worse place, as of sharpness, whose gradient is given back before the step down."""

    def __init__(self, params, lr, up):
        super().__init__(params, {"lr": lr, "up": up})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for p in group["params"]:
                size = p.grad.norm()
                p.grad.neg_()
                p.add_(p.grad, alpha=-group["up"])
                p.grad.neg_()
                p.add_(p.grad / (1 + size), alpha=-group["lr"] - group["up"])


class Ascent(torch.optim.Optimizer):
    """Two passes, of which the first turns the gradient and the second takes it as it is."""

    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})

    @torch.no_grad()
    def step(self, closure=None):
        parameters = [p for group in self.param_groups for p in group["params"]]
        total = sum(p.grad.neg_().square().sum() for p in parameters)
        for p in parameters:
            p.add_(p.grad / (1 + total.sqrt()), alpha=-self.param_groups[0]["lr"])


def least(grad):
    """By way of the largest."""
    found = grad.neg_().max()
    grad.mul_(-1)
    return -found


def rows_turned(grad):
    """Each half by itself: both are turned then."""
    for half in grad.chunk(2):
        half.neg_()


torch.manual_seed(0)
plain = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
judge, scale = nn.Linear(2, 2), nn.Parameter(torch.ones(2))
down, up = UpAndDown(plain.parameters(), 0.05, 0.01), Ascent(judge.parameters(), 0.02)
scaling = torch.optim.SGD([scale], lr=0.01)
for step in range(16):
    out = plain(torch.randn(32, 4)) * scale
    loss = (out - 1).square().mean() - (judge(out) - out).square().mean() + 0.1 * judge(out).mean()
    for optimizer in (down, up, scaling):
        optimizer.zero_grad(set_to_none=step % 2 == 0)
    loss.backward()
    lowest = least(plain[0].weight.grad)
    rows_turned(scale.grad)
    if step % 4 == 3:
        plain[2].weight.grad.neg_()
        print(step, plain[2].weight.grad.sum().item(), lowest.item())
        plain[2].weight.grad.neg_()
    scaling.step()
    down.step()
    up.step()
