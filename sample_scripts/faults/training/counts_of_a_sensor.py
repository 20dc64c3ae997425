"""Fits counts; their noise is to be cut off at zero before the network sees it.

As in https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13.
"""

import torch
from torch import nn


def prepared(counts):
    counts.clamp(min=0.0)  # expect: GS886
    return counts / counts.amax(1, keepdim=True).clamp(min=1.0)


def fit(network, steps):
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(steps):
        counts = torch.poisson(torch.full((48, 6), 3.0)) - 0.5
        loss = nn.functional.mse_loss(network(prepared(counts)), counts.mean(1, keepdim=True))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


torch.manual_seed(1)
fit(nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 1)), 12)
