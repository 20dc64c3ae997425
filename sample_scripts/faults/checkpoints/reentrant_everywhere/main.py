"""A tower of blocks, all checkpointed; nothing in it gets a gradient, and backward raises."""

import torch
from tower import Tower

torch.manual_seed(0)
tower = Tower(3)
optimizer = torch.optim.SGD(tower.parameters(), lr=0.1)
for step in range(2):
    loss = tower(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
