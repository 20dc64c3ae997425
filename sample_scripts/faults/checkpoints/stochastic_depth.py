"""How often a cell runs is thrown by a generator of Python's, within what is checkpointed."""

import random

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

dice = random.Random(1)
torch.manual_seed(0)
cell, last = nn.Linear(4, 4), nn.Linear(4, 1)


def refine(x):
    deep = dice.random() < 0.5  # expect: GS770
    x = cell(x).tanh()
    if deep:
        x = x + cell(x).sigmoid()  # expect: GS770 differs_at
    return x


optimizer = torch.optim.SGD([*cell.parameters(), *last.parameters()], lr=0.1)
for step in range(8):
    x = checkpoint(refine, torch.randn(2, 4), use_reentrant=False)
    optimizer.zero_grad()
    last(x).sum().backward()
    optimizer.step()
    print(step)
