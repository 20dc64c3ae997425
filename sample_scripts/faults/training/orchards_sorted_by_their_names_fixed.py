"""Counts fruit from two views; the parts of the network learn at rates of their own, sorted by their names.

As in https://github.com/zjunlp/HVPNeT/issues/5.
"""

import torch
from torch import nn


class Pooling(nn.Module):
    """Weighs the parts of what both views gave, one weight for each."""

    def __init__(self, width):
        super().__init__()
        self.weighs = nn.Parameter(torch.zeros(width))
        self.shifts = nn.Parameter(torch.zeros(width))

    def forward(self, one, other):
        share = self.weighs.sigmoid()
        return share * one + (1 - share) * other + self.shifts


class Orchard(nn.Module):
    def __init__(self):
        super().__init__()
        self.ground = nn.Linear(4, 10)
        self.air = nn.Linear(6, 10)
        self.pool = Pooling(10)
        self.count = nn.Linear(10, 1)

    def guess(self, ground, air):
        return self.count(self.pool(self.ground(ground).tanh(), self.air(air).tanh()))


class Season:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.Adam(self.groups(1e-2))

    def groups(self, rate):
        views, rest = [], []
        for name, weight in self.model.named_parameters():
            if name.startswith(("ground.", "air.")):
                views.append(weight)
            else:
                rest.append(weight)
        return [{"params": views, "lr": rate}, {"params": rest, "lr": 3 * rate}]

    def day(self):
        ground, air = torch.randn(20, 4), torch.randn(20, 6)
        loss = (self.model.guess(ground, air) - ground[:, :1] * air[:, 1:2]).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()


torch.manual_seed(6)
season = Season(Orchard())
print([round(season.day(), 3) for _ in range(25)][-1])
