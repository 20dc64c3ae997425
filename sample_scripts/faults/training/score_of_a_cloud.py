"""Learns the slope of a density by score matching: the trace of its derivative, and half its square.

As in https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4.
"""

import torch
from torch import nn


def energy(width):
    return nn.Sequential(
        nn.Linear(3, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1)
    )


def matched(net, points):
    points = points.clone().requires_grad_()
    (score,) = torch.autograd.grad(-net(points).sum(), points, create_graph=True)
    (change,) = torch.autograd.grad(score.sum(), points, create_graph=True)  # expect: GS905
    return (change.sum(-1) + score.square().sum(-1) / 2).mean()


torch.manual_seed(0)
net = energy(24)
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(30):
    points = torch.randn(128, 3) * torch.tensor([1.0, 0.5, 2.0])
    loss = matched(net, points)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
