"""Regression over batches that a generator cuts; one row is left over.

As in https://github.com/pytorch/pytorch/issues/4534.
"""

import torch
from torch import nn


def batches(x, y, size):
    order = torch.randperm(len(x))
    for start in range(0, len(x), size):  # expect: GS814
        rows = order[start : start + size]
        yield x[rows], y[rows]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x = torch.randn(41, 3)
for epoch in range(3):
    for x_now, y_now in batches(x, x.sum(1, keepdim=True), 8):
        loss = (model(x_now) - y_now).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, f"{loss.item():.3f}")
