"""Sequences grow from step to step: so does the graph, and nothing is carried over."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.GRUCell(2, 3)
o = torch.optim.SGD(m.parameters(), lr=0.1)
for n in range(1, 12):
    h = torch.zeros(1, 3)
    losses = []
    for _t in range(n):
        h = m(torch.randn(1, 2), h)
        losses.append(h.pow(2).mean())
    o.zero_grad()
    sum(losses).backward()
    o.step()
