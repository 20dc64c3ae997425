"""A layer that normalises by a running scale, which it updates in place after use."""

import torch
from torch import nn


class RunningScale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.register_buffer("scale", torch.ones(width))

    def forward(self, x):
        out = self.gain * x / self.scale
        self.scale = 0.9 * self.scale + 0.1 * x.detach().abs().mean(0)
        return out


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), RunningScale(4), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    model(torch.randn(6, 3)).square().mean().backward()
    optimizer.step()
print("trained")
