"""Bee hives are diagnosed by their sound, and the season shall not show: its gradient is to be reversed.

As in https://github.com/hash2430/pitchtron/issues/3.
"""

import torch
from torch import nn


class Turned(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class Hives(nn.Module):
    def __init__(self):
        super().__init__()
        self.sound = nn.Sequential(nn.Linear(10, 8), nn.Tanh())
        self.illness, self.season = nn.Linear(8, 3), nn.Linear(8, 4)

    def forward(self, spectrum):
        heard = self.sound(spectrum)
        hidden = Turned.apply(heard)
        return self.illness(heard), self.season(hidden)


torch.manual_seed(0)
hives = Hives()
optimizer = torch.optim.Adam(hives.parameters(), lr=0.01)
for _ in range(8):
    illness, season = hives(torch.randn(16, 10))
    loss = nn.functional.cross_entropy(illness, torch.randint(3, (16,)))
    loss = loss + nn.functional.cross_entropy(season, torch.randint(4, (16,)))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
