"""A bakery's loss by hand: a loaf too few costs three times as much as one too many.

The difference of two rows is used twice. As in
https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html.
"""

import torch
from torch import nn


def cost(baked, sold):
    over = baked - sold
    return (over.relu() + 3 * (-over).relu()).mean()


torch.manual_seed(0)
days = torch.randn(200, 5)
loaves = days @ torch.randn(5) + 0.1 * torch.randn(200)
baker = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(baker.parameters(), lr=1e-2)
for rows in torch.randperm(200).split(25):
    optimizer.zero_grad()
    loss = cost(baker(days[rows]).squeeze(1), loaves[rows])
    loss.backward()
    optimizer.step()
