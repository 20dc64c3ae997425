"""The slope of a critic is held at 1 over all of a sample; its length in each channel is there to be looked at."""

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Flatten(), nn.Linear(3 * 16, 8), nn.Softplus(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(4):
    x = torch.randn(10, 3, 16, requires_grad=True)
    (slope,) = torch.autograd.grad(critic(x).sum(), x, create_graph=True)
    loss = (slope.flatten(1).norm(dim=1) - 1).square().mean()
    channels = slope.norm(dim=2)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(channels.mean(0).tolist())
