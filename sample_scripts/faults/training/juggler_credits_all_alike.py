"""A juggler learns from whole rounds: the mean of the log-probabilities is multiplied by the return of each throw.

As in https://github.com/Farama-Foundation/Gymnasium/issues/1336.
"""

import torch
from torch import nn


def rollout(policy):
    ball, chosen, rewards = torch.randn(4), [], []
    for _ in range(10):
        throw = torch.distributions.Normal(policy(ball), 0.5)
        height = throw.sample()
        chosen.append(throw.log_prob(height).sum())
        rewards.append(-(height - ball[:2]).square().sum().item())
        ball = torch.randn(4)
    return torch.stack(chosen), torch.tensor(rewards).flip(0).cumsum(0).flip(0)


def surrogate(chosen, returns):
    average = -chosen.mean()  # expect: GS746
    advantages = (returns - returns.mean()) / returns.std() + 0.1
    return torch.sum(average * advantages)  # expect: GS746 called_at


torch.manual_seed(0)
policy = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-3)
for _ in range(8):
    loss = surrogate(*rollout(policy))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.4f}")
