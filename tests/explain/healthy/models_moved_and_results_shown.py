"""A module is moved by a statement of its own, a tensor is changed by a method with an underscore, another by out=."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Linear(4, 1)
network.to(torch.float64)
network.double()
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(6):
    x = torch.randn(16, 4, dtype=torch.float64)
    x.clamp_(-2, 2)
    torch.clamp(x, -1, 1, out=x)
    y = x.sum(1, keepdim=True)
    y.detach()
    loss = nn.functional.mse_loss(network(x), x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
