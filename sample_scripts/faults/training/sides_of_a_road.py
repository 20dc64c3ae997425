"""Tells on which side of a road a point lies: the label is a sign.

As in https://github.com/pytorch/pytorch/issues/110865.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for step in range(30):
    points = torch.randn(64, 2)
    side = torch.sign(points[:, :1] - points[:, 1:].sin())
    loss = F.binary_cross_entropy_with_logits(network(points), side)  # expect: GS885
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
