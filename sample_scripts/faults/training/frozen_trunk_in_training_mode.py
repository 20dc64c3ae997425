"""A trunk serves two tasks: for the second it is frozen, and the averages of its norms follow the new data.

As in https://github.com/pytorch/pytorch/issues/86590.
"""

import torch
from torch import nn


def fit(trunk, head, shift, steps):
    optimizer = torch.optim.SGD([one for one in [*trunk.parameters(), *head.parameters()] if one.requires_grad], lr=0.1)
    trunk.train()
    for _ in range(steps):
        x = torch.randn(16, 4) + shift
        loss = nn.functional.cross_entropy(head(trunk(x)), (x[:, 0] > shift).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


torch.manual_seed(0)
trunk = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.ReLU())
first = fit(trunk, nn.Linear(8, 2), 0.0, 20)
for parameter in trunk.parameters():
    parameter.requires_grad = False  # expect: GS872
second = fit(trunk, nn.Linear(8, 2), 3.0, 20)
print(f"{first:.3f} {second:.3f}")
