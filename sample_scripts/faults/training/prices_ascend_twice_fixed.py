"""Prices of a market rise where demand is above supply: their gradient is turned for it, and clipped.

As in https://github.com/cooper-org/cooper/issues/49.
"""

import torch
from torch import nn


def ascend(prices):
    for one in prices:
        one.grad *= -1


torch.manual_seed(0)
buyers = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3), nn.Softplus())
prices = [nn.Parameter(torch.zeros(3)), nn.Parameter(torch.zeros(()))]
buying = torch.optim.Adam(buyers.parameters(), lr=0.01)
pricing = torch.optim.SGD(prices, lr=0.1, momentum=0.5)
for day in range(20):
    demand = buyers(torch.randn(32, 4))
    excess = demand.mean(0) - torch.tensor([0.2, 0.4, 0.3])
    utility = (1 + demand).log().sum(1).mean()
    loss = -utility + (prices[0] * excess).sum() + prices[1] * excess.sum() + excess.square().sum()
    buying.zero_grad()
    pricing.zero_grad()
    loss.backward()
    ascend(prices)
    nn.utils.clip_grad_norm_(prices, 0.5)
    buying.step()
    pricing.step()
print(prices[0].data, excess.detach())
