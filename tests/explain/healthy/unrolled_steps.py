"""Inner steps with create_graph, and a backward through all of them."""

import torch
from torch import nn

torch.manual_seed(0)
w = nn.Parameter(torch.randn(3, 1))
b = nn.Parameter(torch.zeros(1))
o = torch.optim.Adam([w, b], lr=0.01)
for _it in range(4):
    fast = [w, b]
    for _k in range(6):
        x = torch.randn(5, 3)
        loss = ((x @ fast[0] + fast[1]).tanh() - x.sum(1, keepdim=True)).pow(2).mean()
        g = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [p - 0.1 * gg for p, gg in zip(fast, g, strict=False)]
    x = torch.randn(5, 3)
    loss = ((x @ fast[0] + fast[1]).tanh() - x.sum(1, keepdim=True)).pow(2).mean()
    o.zero_grad()
    loss.backward()
    o.step()
