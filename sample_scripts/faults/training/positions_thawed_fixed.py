"""A transformer over pieces of a signal: its head is fitted first, then all of it but the table of positions.

As in https://github.com/mindspore-lab/mindone/pull/439.
"""

import math

import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self, pieces=8, width=16):
        super().__init__()
        self.embed = nn.Linear(5, width)
        self.register_buffer("positions", torch.zeros(1, pieces, width))
        self.layer = nn.TransformerEncoderLayer(width, 2, 32, dropout=0.0, batch_first=True)
        self.fill(pieces, width)

    def fill(self, pieces, width):
        angles = torch.arange(pieces)[:, None] * torch.exp(-torch.arange(0, width, 2) * math.log(100.0) / width)
        self.positions.data.copy_(torch.cat([angles.sin(), angles.cos()], dim=1))

    def forward(self, signal):
        return self.layer(self.embed(signal) + self.positions).mean(dim=1)


def fit(model, steps, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for _ in range(steps):
        signal = torch.randn(16, 8, 5)
        loss = nn.functional.mse_loss(model(signal).squeeze(-1), signal[:, 2].sum(dim=1).tanh())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
model = nn.Sequential(Encoder(), nn.Linear(16, 1))
model[0].requires_grad_(False)
fit(model, 8, 1e-2)
model[0].requires_grad_(True)
print(f"{fit(model, 20, 1e-3):.3f}")
