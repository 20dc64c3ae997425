"""A critic with a gradient penalty at mixed points that were detached."""

import torch
from torch import nn

torch.manual_seed(0)
G = nn.Linear(2, 3)
D = nn.Sequential(nn.Linear(3, 8), nn.LeakyReLU(), nn.Linear(8, 1))
og = torch.optim.Adam(G.parameters())
od = torch.optim.Adam(D.parameters())
for _i in range(6):
    for _ in range(2):
        real = torch.randn(4, 3)
        fake = G(torch.randn(4, 2)).detach()
        x = (0.5 * real + 0.5 * fake).requires_grad_(True)
        (g,) = torch.autograd.grad(D(x).sum(), x, create_graph=True)
        loss = D(fake).mean() - D(real).mean() + 10 * (g.norm(2, 1) - 1).pow(2).mean()
        od.zero_grad()
        loss.backward()
        od.step()
    loss = -D(G(torch.randn(4, 2))).mean()
    og.zero_grad()
    loss.backward()
    og.step()
