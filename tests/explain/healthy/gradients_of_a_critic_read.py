"""A term whose gradients at the critic are looked at: the coder's rate follows how much the critic would change."""

import torch
from torch import nn

torch.manual_seed(0)
coder, critic = nn.Linear(6, 4), nn.Linear(4, 1)
codes, critics = (torch.optim.SGD(net.parameters(), lr=0.01) for net in (coder, critic))
for _ in range(24):
    code = coder(torch.randn(16, 6))
    critics.zero_grad()
    critic(code.detach()).square().mean().backward()
    critics.step()
    critics.zero_grad()
    loss = code.square().mean() + (critic(code.detach()) - 1).square().mean()
    codes.zero_grad()
    loss.backward()
    codes.param_groups[0]["lr"] = 0.01 / (1 + critic.weight.grad.norm().item())
    codes.step()
print("done")
