"""Predicts the next height of a tide; a batch of 64 windows goes through the network in 16 parts.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/12811.
"""

import math

import torch
from torch import nn

torch.manual_seed(0)
hours = torch.arange(1200.0)
heights = torch.sin(2 * math.pi * hours / 12.4) + 0.4 * torch.sin(2 * math.pi * hours / 24) + 0.05 * torch.randn(1200)
windows = heights.unfold(0, 25, 1)
network = nn.Sequential(nn.Linear(24, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)
PARTS = 16


def update(batch):
    optimizer.zero_grad()
    seen = 0.0
    for part in batch.chunk(PARTS):
        loss = nn.functional.smooth_l1_loss(network(part[:, :-1]).squeeze(1), part[:, -1])
        (loss / PARTS).backward()
        seen += loss.item()
    optimizer.step()
    return seen / PARTS


for step in range(60):
    mean = update(windows[torch.randint(len(windows), (64,))])
    if step % 10 == 9:
        print(f"{step + 1:3d}  {mean:.4f}")
