"""REINFORCE by hand: actions come from torch.normal() and their density is written out, its gradient is the score."""

import torch
from torch import nn

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
log_deviation = nn.Parameter(torch.zeros(1))
optimizer = torch.optim.Adam([*policy.parameters(), log_deviation], lr=1e-2)
for _ in range(60):
    state = torch.randn(128, 3)
    mean = policy(state)
    deviation = log_deviation.exp().expand_as(mean)
    action = torch.normal(mean, deviation)
    reward = -(action - state[:, :1]).square()
    density = -((action.detach() - mean) / deviation).square() / 2 - deviation.log()
    loss = -(density * (reward - reward.mean()).detach()).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"reward {reward.mean().item():.2f}")
