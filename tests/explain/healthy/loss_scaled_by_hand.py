"""A loss scale that begins far too high, with master weights: steps with an infinite gradient are left out."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 3))
master = [one.detach().clone().requires_grad_(True) for one in net.parameters()]
net.half()
optimizer, scale = torch.optim.AdamW(master, lr=3e-3), 2.0**22
for _ in range(30):
    x = torch.randn(32, 2)
    loss = F.cross_entropy(net(x.half()).float(), (x[:, 0] > 0).long() + (x[:, 1] > 0).long())
    net.zero_grad(set_to_none=True)
    (loss * scale).backward()
    if not all(one.grad.isfinite().all() for one in net.parameters()):
        scale /= 2
        continue
    for to, of in zip(master, net.parameters(), strict=True):
        to.grad = of.grad.float() / scale
    optimizer.step()
    with torch.no_grad():
        for to, of in zip(master, net.parameters(), strict=True):
            of.copy_(to)
print(scale)
