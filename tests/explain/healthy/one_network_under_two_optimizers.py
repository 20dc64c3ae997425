"""Two optimizers of one network take turns, each for a loss of its own, and nothing else is trained."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Linear(4, 2)
gentle, bold = torch.optim.SGD(network.parameters(), lr=1e-3), torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(6):
    x = torch.randn(16, 4)
    for optimizer, column in ((gentle, 0), (bold, 1)):
        optimizer.zero_grad()
        (network(x)[:, column] - x.sum(1)).square().mean().backward()
        optimizer.step()
