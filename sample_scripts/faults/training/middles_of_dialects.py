"""Dialects told apart by their vowels, which are drawn to a middle for each dialect: a loss that looks the middle up.

As in https://github.com/KaiyangZhou/pytorch-center-loss/issues/11.
"""

import torch
from torch import nn


class Middles(nn.Module):
    def __init__(self, dialects, size):
        super().__init__()
        self.points = nn.Parameter(torch.randn(dialects, size))

    def forward(self, vowels, dialect):
        return (vowels - self.points.index_select(0, dialect)).square().sum(1).mean()


torch.manual_seed(0)
encoder, head, middles = nn.Sequential(nn.Linear(9, 12), nn.Tanh(), nn.Linear(12, 5)), nn.Linear(5, 4), Middles(4, 5)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.05)  # expect: GS817
for _ in range(15):
    recorded, dialect = torch.randn(24, 9), torch.randint(4, (24,))
    vowels = encoder(recorded)
    loss = nn.functional.cross_entropy(head(vowels), dialect) + 0.05 * middles(vowels, dialect)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
