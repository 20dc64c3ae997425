"""The first block is checkpointed with the old, reentrant kind: its input is data, which needs no gradient."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
first, last = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
for step in range(2):
    x = torch.randn(8, 4)
    hidden = checkpoint(first, x, use_reentrant=False)
    loss = last(hidden.relu()).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item(), first.weight.grad is None)
