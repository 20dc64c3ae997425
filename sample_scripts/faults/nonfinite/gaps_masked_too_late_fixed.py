"""Gaps in the targets are masked after the arithmetic: the loss is finite, and zero times NaN comes back."""

import torch
from torch import nn


def gaussian(mean, log_scale, target):
    z = (target - mean) * torch.exp(-log_scale)
    return 0.5 * z**2 + log_scale


def forecast_loss(mean, log_scale, target):
    seen = ~torch.isnan(target)
    return gaussian(mean[seen], log_scale[seen], target[seen]).mean()


torch.manual_seed(0)
inputs = torch.randn(640, 5)
targets = torch.tanh(inputs @ torch.randn(5, 2))
targets[torch.arange(640) % 97 == 91, 1] = float("nan")
model = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for start in range(0, 640, 32):
    mean, log_scale = model(inputs[start : start + 32]).chunk(2, dim=1)
    loss = forecast_loss(mean, log_scale, targets[start : start + 32])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
