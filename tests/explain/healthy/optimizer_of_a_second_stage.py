"""A second stage makes a new optimizer of the same parameters; a probe that is asked for its slope is in none."""

import torch
from torch import nn

torch.manual_seed(0)
network, probe = nn.Linear(4, 2), nn.Linear(2, 1)
for rate in (1e-2, 1e-3):
    optimizer = torch.optim.Adam(network.parameters(), lr=rate)
    for _ in range(6):
        x = torch.randn(16, 4)
        optimizer.zero_grad()
        (probe(network(x)) - x.sum(1, keepdim=True)).square().mean().backward()
        optimizer.step()
