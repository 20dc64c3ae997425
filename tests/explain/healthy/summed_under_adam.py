"""Gradients of eight parts are added up under Adam, which takes no notice of their factor; nothing can be learned."""

import torch
from torch import nn

torch.manual_seed(0)
x, kinds = torch.randn(256, 6), torch.randint(3, (256,))
network = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
optimizer = torch.optim.Adam(network.parameters(), lr=1e-4)
for _ in range(24):
    optimizer.zero_grad()
    for rows in torch.randperm(256)[:64].chunk(8):
        loss = nn.functional.cross_entropy(network(x[rows]), kinds[rows])
        loss.backward()
    optimizer.step()
