"""Normalised sensor readings: the variance is that of what is left when the mean is taken away."""

import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(0, keepdim=True)
        variance = (x - mean).square().mean(0, keepdim=True)
        return self.scale * (x - mean) / (variance + 1e-6).sqrt()


torch.manual_seed(0)
model = nn.Sequential(Normalise(6), nn.Linear(6, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(8):
    pressure = 1013.0 + 0.01 * torch.randn(64, 6)
    rain = torch.randn(64, 1)
    loss = (model(pressure) - rain).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
