"""Both kinds of checkpoint."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
a = nn.Linear(4, 4)
b = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
c = nn.Linear(4, 1)
o = torch.optim.Adam([*a.parameters(), *b.parameters(), *c.parameters()])
for _i in range(4):
    h = a(torch.randn(3, 4))
    h = checkpoint(b, h, use_reentrant=True)
    h = checkpoint(b, h, use_reentrant=False)
    loss = c(h).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
