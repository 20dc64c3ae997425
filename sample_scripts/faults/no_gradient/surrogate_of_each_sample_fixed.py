"""A loss of each sample whose parts all have their graph."""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
for step in range(10):
    states = torch.randn(64, 4)
    with torch.no_grad():
        behaved = Categorical(logits=policy(states))
        actions = behaved.sample()
        before = behaved.log_prob(actions)
    advantages = (actions == states[:, :3].argmax(1)).float() - 0.3
    for _ in range(2):
        now = Categorical(logits=policy(states))
        ratios = torch.exp(now.log_prob(actions) - before)
        surrogate = torch.min(ratios * advantages, ratios.clamp(0.8, 1.2) * advantages)
        loss = -surrogate - 0.01 * now.entropy()
        optimizer.zero_grad()
        loss.mean().backward()
        optimizer.step()
print(f"rewards {(actions == states[:, :3].argmax(1)).float().mean().item():.3f}")
