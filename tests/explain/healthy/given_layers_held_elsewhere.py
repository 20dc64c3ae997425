"""Modules that keep what they are given in a plain list on purpose: another registers it, or the optimizer has it."""

import torch
from torch import nn


class Route(nn.Module):
    def __init__(self, experts):
        super().__init__()
        self.experts = list(experts)  # the owner registers them
        self.gate = nn.Linear(4, len(experts))

    def forward(self, x):
        shares = self.gate(x).softmax(-1)
        return sum(shares[:, i : i + 1] * expert(x) for i, expert in enumerate(self.experts))


class Owner(nn.Module):
    def __init__(self):
        super().__init__()
        experts = [nn.Linear(4, 4), nn.Linear(4, 4)]
        self.experts = nn.ModuleList(experts)
        self.route = Route(experts)
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        return self.head(self.route(x))


class Ensemble(nn.Module):
    def __init__(self, members):
        super().__init__()
        self.members = [*members]  # each has its own part of the optimizer
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        return self.scale * torch.stack([member(x) for member in self.members]).mean(0)


def fit(model, parameters):
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    for _ in range(8):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), x.sum(1, keepdim=True)).backward()
        optimizer.step()


torch.manual_seed(0)
owner = Owner()
fit(owner, owner.parameters())
members = [nn.Linear(4, 1) for _ in range(3)]
ensemble = Ensemble(members)
fit(ensemble, [*ensemble.parameters(), *(one for member in members for one in member.parameters())])
