"""A shift and a scale bring points to a round cloud; the loss is a sum of both parts of their density.

As in https://github.com/11-626/Deep-INFOMAX/issues/1.
"""

import torch
from torch import nn
from torch.distributions import Independent, Normal

torch.manual_seed(2)
shift, scale = nn.Parameter(torch.zeros(2)), nn.Parameter(torch.zeros(2))
cloud = Independent(Normal(nn.Parameter(torch.zeros(2)), torch.ones(2)), 1)
optimizer = torch.optim.SGD([shift, scale, cloud.base_dist.loc], lr=1e-3)
for step in range(20):
    points = 0.3 * torch.randn(128, 2) + 1
    with torch.no_grad():
        seen = (points - shift) * scale.exp()
    loss = -cloud.log_prob(seen).mean()
    loss = loss + 0.01 * (shift.square().sum() + scale.square().sum())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
