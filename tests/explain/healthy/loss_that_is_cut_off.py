"""Robust regression: each sample counts with its weight, and with no more than a bound."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
truth = torch.tensor([0.5, -1.0, 0.3, 0.8])
for _ in range(60):
    x, weight = torch.randn(64, 4), torch.rand(64) + 0.5
    y = x @ truth + torch.where(torch.rand(64) < 0.1, 20.0, 0.1) * torch.randn(64)
    error = (model(x).squeeze(1) - y).abs()
    loss = torch.minimum(weight * error, weight * error.clamp(max=4.0)).mean()
    growth = (0.05 * error).exp()
    loss = loss + 0.01 * torch.minimum(growth, growth.clamp(max=2.0)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
