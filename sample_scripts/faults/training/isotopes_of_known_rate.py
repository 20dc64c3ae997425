"""Decay of isotopes: a rate is known from tables and stays, the others are fitted.

As in https://github.com/cornellius-gp/gpytorch/issues/1131.
"""

import torch
from torch import nn


class Rate(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.raw = nn.Parameter(torch.tensor(rate).log())

    @property
    def rate(self):
        return self.raw.exp()


class Decay(nn.Module):
    def __init__(self):
        super().__init__()
        self.mother, self.daughter = Rate(0.7), Rate(0.2)
        self.amount = nn.Parameter(torch.ones(2))

    def forward(self, hours):
        first = self.amount[0] * torch.exp(-self.mother.rate * hours)
        return first + self.amount[1] * torch.exp(-self.daughter.rate * hours)


def fitted(decay):
    known = {decay.mother.rate}  # expect: GS813
    return [one for one in decay.parameters() if one not in known]  # expect: GS813 used_at


torch.manual_seed(5)
decay = Decay()
optimizer = torch.optim.Adam(fitted(decay), lr=2e-2)
hours = torch.linspace(0, 6, 40)
counts = 1.5 * torch.exp(-0.7 * hours) + 0.5 * torch.exp(-0.3 * hours)
for _ in range(20):
    optimizer.zero_grad()
    loss = (decay(hours) - counts).square().mean()
    loss.backward()
    optimizer.step()
