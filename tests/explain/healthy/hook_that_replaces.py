"""A forward hook keeps the last activation only, and the loss uses it."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
acts = {}
norms = []
m[1].register_forward_hook(lambda mod, i, out: acts.__setitem__("h", out))
m[0].weight.register_hook(lambda g: norms.append(g.norm().item()))
o = torch.optim.SGD(m.parameters(), lr=0.1)
for _i in range(10):
    loss = m(torch.randn(2, 3)).pow(2).mean() + 0.01 * acts["h"].abs().mean()
    o.zero_grad()
    loss.backward()
    o.step()
