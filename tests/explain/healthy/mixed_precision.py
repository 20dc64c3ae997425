"""Autocast and a GradScaler, with a moving average of the weights."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 8), nn.LayerNorm(8), nn.GELU(), nn.Linear(8, 2))
o = torch.optim.SGD(m.parameters(), lr=0.1)
sc = torch.amp.GradScaler("cpu")
ema = [p.detach().clone() for p in m.parameters()]
for _i in range(5):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(m(torch.randn(4, 4)), torch.randint(2, (4,)))
    o.zero_grad()
    sc.scale(loss).backward()
    sc.unscale_(o)
    sc.step(o)
    sc.update()
    for e, p in zip(ema, m.parameters(), strict=False):
        e.lerp_(p.detach(), 0.1)
