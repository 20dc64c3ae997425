"""Tells apples from pears, then weighs them: a helper is to hold the shared layers still in the second stage.

As in https://github.com/CSCYQJ/MICCAI23-ProtoContra-SFDA/issues/18.
"""

import torch
from torch import nn


class Fruit(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(5, 16), nn.Tanh())
        self.kind = nn.Linear(16, 2)
        self.weight = nn.Linear(16, 1)


def learns(part, wanted):
    part.requires_grad_(wanted)


def fit(loss_of, fruit, steps):
    optimizer = torch.optim.Adam(fruit.parameters(), lr=1e-2)
    for _ in range(steps):
        loss = loss_of()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.4f}")


torch.manual_seed(0)
fruit = Fruit()
seen, kinds, weights = torch.randn(64, 5), torch.randint(2, (64,)), torch.rand(64, 1)
fit(lambda: nn.functional.cross_entropy(fruit.kind(fruit.shared(seen)), kinds), fruit, 11)
learns(fruit.shared, False)
learns(fruit.kind, False)
fit(lambda: nn.functional.mse_loss(fruit.weight(fruit.shared(seen)), weights), fruit, 7)
