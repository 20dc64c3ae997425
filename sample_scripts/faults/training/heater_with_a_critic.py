"""Learns when to heat a room: policy and critic are trained by one loss over a whole day.

As in https://github.com/astariul/encode-attend-navigate-pytorch/pull/3.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
policy, critic = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2)), nn.Linear(2, 1)
optimizer = torch.optim.Adam([*policy.parameters(), *critic.parameters()], lr=5e-3)


def day(rooms=32, hours=8):
    warm = torch.rand(rooms)
    logarithms, values, rewards = [], [], []
    for hour in range(hours):
        seen = torch.stack([warm, torch.full_like(warm, hour / hours)], 1)
        chosen = Categorical(logits=policy(seen))
        heats = chosen.sample()
        logarithms.append(chosen.log_prob(heats))
        values.append(critic(seen).squeeze(1))
        warm = 0.8 * warm + 0.3 * heats
        rewards.append(1 - (warm - 0.7).abs())
    returns = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    return torch.stack(logarithms), torch.stack(values), returns


for update in range(25):
    logarithms, values, returns = day()
    advantage = returns - values  # expect: GS881
    loss = -(logarithms * advantage).mean() + 0.1 * (returns - values).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{returns[0].mean().item():.3f}")
