"""Layers of a retina, marked in scans and trained by how much the marks overlap, one layer after the other.

As in https://github.com/Hsuxu/Loss_ToolBox-PyTorch/issues/11.
"""

import torch
from torch import nn


def overlap_lost(marked, truth):
    return 1 - (2 * (marked * truth).sum() + 1) / (marked.sum() + truth.sum() + 1)


def over_layers(shares, truth):
    return sum(overlap_lost(torch.sigmoid(shares[:, one]), truth[:, one]) for one in range(3))  # expect: GS807


torch.manual_seed(0)
marker = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.Conv2d(6, 3, 1))
optimizer = torch.optim.Adam(marker.parameters(), lr=1e-2)
for _ in range(8):
    scans, layers = torch.randn(4, 1, 10, 10), torch.randint(3, (4, 10, 10))
    truth = nn.functional.one_hot(layers, 3).permute(0, 3, 1, 2).float()
    loss = over_layers(marker(scans).softmax(1), truth)  # expect: GS807 called_at
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
