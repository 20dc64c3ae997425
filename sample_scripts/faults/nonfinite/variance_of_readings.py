"""Normalised sensor readings: the variance is the mean of squares less the square of the mean, of large numbers."""

import torch
from torch import nn


class Normalise(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mean = x.mean(0, keepdim=True)
        variance = (x * x).mean(0, keepdim=True) - mean * mean  # expect: GS730
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
