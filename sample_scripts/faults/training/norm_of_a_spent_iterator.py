"""Gradients are limited by a function of one's own, which goes through the parameters for the norm and again to scale.

As in https://github.com/pytorch/pytorch/issues/148259.
"""

import itertools

import torch
from torch import nn


def limit(parameters, most):
    total = torch.stack([one.grad.norm() for one in parameters]).norm()
    scale = (most / (total + 1e-6)).clamp(max=1.0)
    for one in parameters:  # expect: GS826 called_at
        one.grad.mul_(scale)
    return total


def main(steps=60):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    cell, head = nn.RNN(2, 16, batch_first=True), nn.Linear(16, 1)
    optimizer = torch.optim.SGD([*cell.parameters(), *head.parameters()], lr=0.02)
    for step in range(steps):
        x = torch.rand(16, 20, 2, generator=generator)
        states, _ = cell(x)
        loss = nn.functional.mse_loss(head(states[:, -1]), x[:, 0, :1] + x[:, 5, 1:])
        optimizer.zero_grad()
        loss.backward()
        norm = limit(itertools.chain(cell.parameters(), head.parameters()), 0.25)  # expect: GS826
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step} loss {loss.item():.4f} norm {norm.item():.2f}")


if __name__ == "__main__":
    main()
