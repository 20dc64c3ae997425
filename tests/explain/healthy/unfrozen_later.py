"""Layers are unfrozen in the middle and added to the optimizer."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
m[0].requires_grad_(False)
o = torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1)
for ep in range(6):
    if ep == 3:
        m[0].requires_grad_(True)
        o.add_param_group({"params": m[0].parameters()})
    loss = m(torch.randn(2, 3)).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
