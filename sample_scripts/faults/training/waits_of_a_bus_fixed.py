"""Fits how long one waits for a bus, as a distribution for each hour.

As in https://github.com/11-626/Deep-INFOMAX/issues/1.
"""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
for step in range(20):
    hours = torch.rand(64, 3)
    waits = hours.sum(1) + 0.1 * torch.randn(64)
    mean, spread = network(hours).unbind(1)
    loss = -Normal(mean, nn.functional.softplus(spread) + 0.1).log_prob(waits).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
