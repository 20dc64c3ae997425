"""A critic that is frozen for the other's turn before its own step is made, and weights evolved without autograd."""

import torch
from torch import nn

torch.manual_seed(0)
critic, maker = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1)), nn.Linear(3, 4)
critic_optimizer = torch.optim.SGD(critic.parameters(), lr=0.01, momentum=0.5)
maker_optimizer = torch.optim.SGD(maker.parameters(), lr=0.01, momentum=0.5)
for step in range(40):
    critic.requires_grad_(True)
    critic_optimizer.zero_grad()
    made = maker(torch.randn(32, 3))
    real = torch.randn(32, 4) + 1
    (nn.functional.softplus(critic(made.detach())) + nn.functional.softplus(-critic(real))).mean().backward()
    critic.requires_grad_(step < 10)  # later it is frozen before its own step
    critic_optimizer.step()
    critic.requires_grad_(False)
    maker_optimizer.zero_grad()
    nn.functional.softplus(-critic(made)).mean().backward()
    maker_optimizer.step()

evolved = nn.Linear(4, 1).requires_grad_(False)
evolution = torch.optim.SGD(evolved.parameters(), lr=0.1, momentum=0.9)
x = torch.randn(64, 4)
y = x.sum(1, keepdim=True)
for _ in range(20):
    for weight in evolved.parameters():
        shift = 0.05 * torch.randn_like(weight)
        before = (evolved(x) - y).pow(2).mean()
        weight.add_(shift)
        after = (evolved(x) - y).pow(2).mean()
        weight.sub_(shift)
        weight.grad = (after - before) / 0.05 * shift
    evolution.step()
print((evolved(x) - y).pow(2).mean().item() < 8)
