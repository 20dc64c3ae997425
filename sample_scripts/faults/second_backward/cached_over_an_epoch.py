"""Parametrized weights are cached around a whole epoch: the second step meets the graph of the first."""

import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import orthogonal

torch.manual_seed(0)
net = nn.Sequential(orthogonal(nn.Linear(4, 6)), nn.Tanh(), nn.Linear(6, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
with torch.no_grad(), parametrize.cached():
    print(f"error {nn.functional.cross_entropy(net(torch.ones(1, 4)), torch.zeros(1).long()).item():.3f}")
with parametrize.cached():  # expect: GS712
    for _ in range(3):
        x, label = torch.randn(8, 4), torch.randint(0, 2, (8,))
        loss = nn.functional.cross_entropy(net(x), label)
        optimizer.zero_grad()
        loss.backward()  # expect: GS712 second_backward_at
        optimizer.step()
