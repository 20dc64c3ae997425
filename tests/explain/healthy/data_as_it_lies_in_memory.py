"""A file holds moment after moment and is read as sensors: it is viewed rightly before the network gets it."""

import torch
from torch import nn

torch.manual_seed(0)
read = torch.randn(48, 6, 10)  # 48 samples, and their 60 numbers in the wrong form
signals = read.view(48, 10, 6)
kinds = torch.randint(2, (48,))
network = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Flatten(), nn.Linear(80, 2))
optimizer = torch.optim.Adam(network.parameters())
for _ in range(6):
    loss = nn.functional.cross_entropy(network(read.view(48, 10, 6)), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
