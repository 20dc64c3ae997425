"""Orders of a bakery are shared out among ovens; a Function is to add the cost of uneven ovens, in its backward.

As in https://github.com/NVIDIA-NeMo/Automodel/issues/1408.
"""

import torch
from torch import nn


class WithCost(torch.autograd.Function):
    @staticmethod
    def forward(ctx, shares, cost):
        ctx.save_for_backward(cost)
        return shares

    @staticmethod
    def backward(ctx, slope):
        (cost,) = ctx.saved_tensors
        return slope, torch.ones_like(cost)


class Bakery(nn.Module):
    def __init__(self):
        super().__init__()
        self.choice = nn.Linear(5, 3)
        self.ovens = nn.Linear(5, 3)

    def forward(self, orders):
        shares = self.choice(orders).softmax(1)
        cost = 0.1 * shares.mean(0).square().sum()
        shares = WithCost.apply(shares, cost)
        return (shares * self.ovens(orders)).sum(1)


torch.manual_seed(0)
bakery = Bakery()
optimizer = torch.optim.Adam(bakery.parameters(), lr=1e-2)
for _ in range(6):
    orders = torch.randn(12, 5)
    loss = (bakery(orders) - orders.sum(1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
