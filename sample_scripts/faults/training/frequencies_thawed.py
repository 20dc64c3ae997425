"""A field over the plane, from fixed random waves of its coordinates: each stage trains one part, the last one all.

As in https://github.com/jmclong/random-fourier-features-pytorch/issues/6.
"""

import torch
from torch import nn


class Waves(nn.Module):
    def __init__(self, number):
        super().__init__()
        frequencies = 3 * torch.randn(2, number)
        self.frequencies = nn.Parameter(frequencies)  # expect: GS766
        self.frequencies.requires_grad = False

    def forward(self, places):
        angles = places @ self.frequencies
        return torch.cat([angles.sin(), angles.cos()], dim=-1)


class Field(nn.Module):
    def __init__(self):
        super().__init__()
        self.waves = Waves(24)
        self.trunk = nn.Sequential(nn.Linear(48, 32), nn.Tanh())
        self.value = nn.Linear(32, 1)

    def forward(self, places):
        return self.value(self.trunk(self.waves(places)))


def train_only(field, parts):
    for parameter in field.parameters():
        parameter.requires_grad = False
    for part in parts:
        for parameter in part.parameters():
            parameter.requires_grad = True  # expect: GS766 cause_at


torch.manual_seed(0)
field = Field()
optimizer = torch.optim.Adam(field.parameters(), lr=3e-3)
for step in range(36):
    if step % 12 == 0:
        train_only(field, ([field.value], [field.trunk], [field])[step // 12])
    places = torch.rand(64, 2)
    loss = (field(places).squeeze(-1) - (4 * places[:, 0]).sin() * places[:, 1]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.4f}")
