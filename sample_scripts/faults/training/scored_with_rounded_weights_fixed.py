"""Tide level from wind and pressure, scored from time to time with the weights as a small device will hold them.

The full weights are put aside as `.data`, which is their memory: what is put back are the rounded ones.

The training goes on from lent weights, as in https://github.com/harubaru/waifu-diffusion/pull/31
"""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
STEPS = 16  # on each side of zero


class Device:
    """The model as it will be flashed: weights on a coarse grid."""

    def __init__(self, model):
        self.model = model
        self.full = []

    def __enter__(self):
        self.full = [weight.detach().clone() for weight in self.model.parameters()]
        for weight in self.model.parameters():
            grid = weight.data.abs().max() / STEPS
            weight.data.copy_((weight.data / grid).round() * grid)
        return self.model

    def __exit__(self, *_):
        for weight, full in zip(self.model.parameters(), self.full, strict=True):
            weight.data.copy_(full)


weather = torch.randn(256, 6)
level = weather[:, :1] * 0.6 + (weather[:, 1:2] * weather[:, 2:3]).tanh()
model = nn.Sequential(nn.Linear(6, 24), nn.SiLU(), nn.Linear(24, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for epoch in range(5):
    for rows in torch.randperm(192).split(48):
        loss = F.mse_loss(model(weather[rows]), level[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad(), Device(model) as rounded:
        score = F.mse_loss(rounded(weather[192:]), level[192:]).item()
    print(f"epoch {epoch} loss {loss.item():.3f} on the device {score:.3f}")
