"""A ratio of densities is learned: one is made larger and the other smaller."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
ours = nn.Linear(2, 1)
optimizer = torch.optim.Adam(ours.parameters(), lr=1e-3)
for _ in range(6):
    x = torch.randn(32, 2)
    y, other = x.sum(1, keepdim=True), torch.randn(32, 1)
    loss = Normal(ours(x), 1.0).log_prob(other).mean() - Normal(ours(x), 1.0).log_prob(y).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
