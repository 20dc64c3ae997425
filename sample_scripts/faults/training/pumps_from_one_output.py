"""Pressure behind three pumps of a well field; the last layer has one output for all of them.

As in https://github.com/pytorch/pytorch/issues/16045.
"""

import torch
from torch import nn

PUMPS = 3

torch.manual_seed(0)
flow = torch.rand(256, 4)
pressure = torch.stack([flow[:, 0] * 2, 1 - flow[:, 1] * flow[:, 2], flow[:, 3].sqrt()], dim=1)
field = nn.Sequential(nn.Linear(4, 20), nn.Tanh(), nn.Linear(20, 1))
optimizer = torch.optim.Adam(field.parameters(), lr=0.01)
criterion = nn.HuberLoss(delta=0.5)
for _ in range(20):
    rows = torch.randint(256, (32,))
    optimizer.zero_grad()
    loss = criterion(field(flow[rows]), pressure[rows])  # expect: GS808
    loss.backward()
    optimizer.step()
