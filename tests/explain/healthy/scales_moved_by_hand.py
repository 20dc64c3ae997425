"""Scales that are moved by hand by what grad() gives of a loss of their own, and that an optimizer holds as well."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
scales = nn.Parameter(torch.zeros(3))
optimizer = torch.optim.SGD([scales, *net.parameters()], lr=0.1)
x = torch.randn(32, 3)
y = x.sum(1, keepdim=True)
for _ in range(12):
    loss = (net(x * scales.exp()) - y).square().mean()
    (gradient,) = torch.autograd.grad(loss, [scales])
    with torch.no_grad():
        scales -= 0.01 * gradient
    loss = (net(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"{loss.item():.3f}")
