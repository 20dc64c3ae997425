"""A ratio of probabilities that is detached (nikhilbarhate99/PPO-PyTorch issue 18): the policy rests."""

import torch
from torch import nn
from torch.distributions import Normal

torch.manual_seed(0)
policy, value, width = nn.Linear(4, 2), nn.Linear(4, 1), nn.Parameter(torch.zeros(2))
optimizer = torch.optim.Adam([*policy.parameters(), *value.parameters(), width], lr=3e-3)


def ratio_of(now, actions, before):
    return (now.log_prob(actions).sum(1).detach() - before).exp()  # expect: GS721


for step in range(10):
    states = torch.randn(64, 4)
    with torch.no_grad():
        behaved = Normal(policy(states), width.exp())
        actions = behaved.sample()
        before = behaved.log_prob(actions).sum(1)
        advantages = 1 - (actions - states[:, :2]).square().sum(1)
    for _ in range(2):
        now = Normal(policy(states), width.exp())
        ratio = ratio_of(now, actions, before)
        gain = torch.min(ratio * advantages, ratio.clamp(0.8, 1.2) * advantages).mean()
        loss = -gain + 0.5 * (value(states).squeeze(1) - advantages).square().mean() - 0.01 * now.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"advantage {advantages.mean().item():.3f}")
