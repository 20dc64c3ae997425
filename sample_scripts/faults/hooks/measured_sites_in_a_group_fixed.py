"""Field of stations: the offsets of the measured ones are held by a mask, and only the other group decays.

As in https://github.com/huggingface/diffusers/issues/1009.
"""

import torch
from torch import nn


class Field(nn.Module):
    def __init__(self, stations):
        super().__init__()
        self.offsets = nn.Parameter(torch.randn(stations))
        self.slope = nn.Sequential(nn.Linear(2, 12), nn.Tanh(), nn.Linear(12, 1))

    def forward(self, station, place):
        return self.offsets[station] + self.slope(place).squeeze(-1)


def groups(field):
    found = []
    found.append({"params": field.slope.parameters(), "weight_decay": 1e-3})
    found.append(
        {
            "params": [field.offsets],
            "lr": 1e-2,
            "weight_decay": 0.0,
        }
    )
    return found


torch.manual_seed(0)
field, measured = Field(12), torch.arange(12) < 8
field.offsets.register_hook(lambda gradient: gradient.masked_fill(measured, 0.0))
optimizer = torch.optim.SGD(groups(field), lr=1e-3)
for _ in range(20):
    station, place = torch.randint(12, (32,)), torch.rand(32, 2)
    loss = (field(station, place) - place.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
