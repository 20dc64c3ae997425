"""Amounts of rain, for which a network gives a gamma law: the amounts are a column, the laws a row, and none fits.

As in https://discuss.pytorch.org/t/mixture-density-network/108250.
"""

import torch
from torch import nn
from torch.distributions import Gamma


class Rain(nn.Module):
    """A gamma law of the rain of each day."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2), nn.Softplus())

    def forward(self, weather):
        shape, rate = self.layers(weather).unbind(-1)
        return Gamma(shape + 0.1, rate + 0.1)


def batches(days, generator):
    """The weather of some days, and how much it rained, as a column."""
    weather = torch.randn(days, 4, generator=generator)
    amounts = weather[:, :1].exp() + 0.1 * torch.rand(days, 1, generator=generator)
    for first in range(0, days, 16):
        yield weather[first : first + 16], amounts[first : first + 16]


torch.manual_seed(0)
model = Rain()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for weather, amounts in batches(96, torch.Generator().manual_seed(1)):
    law = model(weather)
    loss = -law.log_prob(amounts).mean()  # expect: GS808
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.3f}")
