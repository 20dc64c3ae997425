"""Taste of a coffee, from its beans and its water; once the beans are known, only the rest learns, and is averaged.

As in https://github.com/MichiganCOG/ViP/issues/7.
"""

import torch
from torch import nn


class Coffee(nn.Module):
    def __init__(self):
        super().__init__()
        self.beans = nn.Linear(5, 8)
        self.water = nn.Linear(2, 8)
        self.taste = nn.Linear(8, 1)

    def forward(self, beans, water):
        return self.taste(torch.tanh(self.beans(beans) + self.water(water)))


def step(coffee, optimizer, cups):
    optimizer.zero_grad()
    for beans, water, taste in cups:
        nn.functional.mse_loss(coffee(beans, water), taste).backward()
    for weight in coffee.parameters():
        if weight.grad is not None:
            weight.grad /= len(cups)
    optimizer.step()


torch.manual_seed(0)
coffee = Coffee()
optimizer = torch.optim.SGD(coffee.parameters(), lr=0.05)
cups = [(torch.randn(8, 5), torch.randn(8, 2), torch.randn(8, 1)) for _ in range(2)]
step(coffee, optimizer, cups)
coffee.beans.requires_grad_(False)
step(coffee, optimizer, cups)
