"""Layer drop decided by Python's random inside a checkpointed block: the recomputation throws the dice again."""

import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

random.seed(3)
torch.manual_seed(0)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = torch.relu(self.first(x))
        if random.random() < 0.5:  # expect: GS770
            x = torch.tanh(self.second(x))  # expect: GS770 differs_at
        return x


blocks = nn.ModuleList(Block() for _ in range(4))
optimizer = torch.optim.SGD(blocks.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 8)
    for block in blocks:
        x = checkpoint(block, x, use_reentrant=False)  # expect: GS770 checkpoint_at
    optimizer.zero_grad()
    x.square().mean().backward()
    optimizer.step()
    print(step)
