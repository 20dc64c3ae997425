"""Learns what a tank's level costs in the long run, from steps of its pump.

As in https://github.com/oreilly-japan/deep-learning-from-scratch-4/issues/13.
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
value = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(value.parameters(), lr=3e-3)
for step in range(20):
    now = torch.rand(64, 2)
    later = (now + 0.1 * torch.randn(64, 2)).clamp(0, 1)
    worth = value(later)
    worth = worth.detach()
    target = -(now[:, :1] - 0.5).abs() + 0.95 * worth
    loss = F.mse_loss(value(now), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
