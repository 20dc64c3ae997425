"""A critic judges several batches of fakes in one loss: one line detaches each, and none leads to another."""

import torch
from torch import nn

torch.manual_seed(0)
maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
makes, judges = (torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.5, 0.9)) for net in (maker, critic))
for _ in range(25):
    real = torch.randn(32, 2) * 0.5 + 1
    loss = nn.functional.softplus(-critic(real)).mean()
    for _ in range(4):
        fake = maker(torch.randn(32, 4)).detach()
        loss = loss + nn.functional.softplus(critic(fake)).mean() / 4
    judges.zero_grad()
    loss.backward()
    judges.step()
    made = nn.functional.softplus(-critic(maker(torch.randn(32, 4)))).mean()
    makes.zero_grad()
    made.backward()
    makes.step()
print(round(loss.item(), 3), round(made.item(), 3))
