"""Snow on slopes: each batch is learned once more from weights that are moved uphill for that."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)


def uphill(parameters, radius=0.05):
    moved = []
    with torch.no_grad():
        norm = torch.stack([one.grad.norm() for one in parameters]).norm()
        for one in parameters:
            moved.append(radius * one.grad / (norm + 1e-12))
            one.add_(moved[-1])
    return moved


parameters = list(model.parameters())
for day in range(12):
    slopes = torch.randn(24, 5)
    depth = slopes[:, :1].abs()
    seen = model(slopes)
    optimizer.zero_grad()
    (seen - depth).square().mean().backward()
    if day >= 5:
        moved = uphill(parameters)
        optimizer.zero_grad()
        (model(slopes) - depth).square().mean().backward()
        with torch.no_grad():
            for one, by in zip(parameters, moved, strict=True):
                one.sub_(by)
    optimizer.step()
