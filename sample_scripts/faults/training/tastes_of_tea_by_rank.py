"""Rates teas by their leaves: the loss turns the targets itself, and forgets that the guesses are a column.

As in https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html.
"""

import torch
from torch import nn


def distance(guess, rating):
    rating = (rating - 5.0) / 2.0
    return (guess - rating).abs().mean()  # expect: GS808


torch.manual_seed(0)
net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(25):
    leaves = torch.randn(36, 6)
    rating = 5 + leaves[:, 0] - leaves[:, 3]
    loss = distance(net(leaves), rating)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
