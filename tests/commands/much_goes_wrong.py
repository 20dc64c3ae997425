"""A run in which much goes wrong. In a short file of its own, for each explanation of it parses its source."""

import contextlib
from pathlib import Path

import torch

import gradscope


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, power):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x * x * grad, None


def recorded(path: Path) -> None:
    """A run in which much goes wrong, so that most tables have rows."""
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(inplace=True), torch.nn.Linear(3, 2))
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    kept = []
    with contextlib.suppress(RuntimeError), gradscope.record(path, detail="full", tensors=True):
        for step in range(3):
            x = torch.ones(2, 3, requires_grad=True)
            x.register_hook(lambda grad: grad.mul_(2))
            loss = Cube.apply(model(x), step).sum()
            kept.append(loss)
            (slope,) = torch.autograd.grad(loss, x, create_graph=True)
            torch.func.vmap(torch.sin)(slope).sum().backward(retain_graph=True)
            (x - 1).log().sum().backward()
            optimizer.step()
            optimizer.zero_grad()
        loss.backward()
