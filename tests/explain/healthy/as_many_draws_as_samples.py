"""A law for each sample, whose loss is a mean over draws from it, of which there are as many as samples by chance."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
DRAWS = 32
for _ in range(40):
    x = torch.randn(32, 3)
    y = x[:, :1] + 0.3 * torch.randn(32, 1)
    mean, spread = net(x).chunk(2, dim=1)
    drawn = mean + nn.functional.softplus(spread) * torch.randn(DRAWS)
    loss = (drawn - y).square().add(1e-6).sqrt().mean()
    keep = torch.rand(DRAWS) > 0.5
    loss = loss + 0.1 * torch.where(keep, drawn, torch.zeros_like(drawn)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
