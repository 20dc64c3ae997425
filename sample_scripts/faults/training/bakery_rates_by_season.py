"""Guesses what a bakery sells; the optimizer is made again when the season changes, with a lower rate.

As in https://github.com/SSL92/hyperIQA/issues/32.
"""

import torch
from torch import nn


def of_the_top(net):
    for name, weight in net.named_parameters():
        if not name.startswith("0."):
            yield weight


torch.manual_seed(1)
net = nn.Sequential(nn.Linear(5, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
top = of_the_top(net)  # expect: GS826
rates = iter([0.02, 0.01])


def season(days):
    optimizer = torch.optim.SGD([{"params": top}, {"params": net[0].parameters()}], lr=next(rates))
    for _ in range(days):
        weather = torch.randn(32, 5)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(net(weather).squeeze(1), weather[:, 0] * weather[:, 1])
        loss.backward()
        optimizer.step()
    return loss.item()


print(season(15), season(15))
