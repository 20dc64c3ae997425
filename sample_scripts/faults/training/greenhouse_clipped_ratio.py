"""Vents of a greenhouse by a clipped policy gradient: the head gives each action's logarithm as a column.

As in https://solofox.github.io/torch/broadcasting/2025/12/07/torch-broadcasting-trap.html.
"""

import torch
from torch import nn


class Vents(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 3))

    def forward(self, air, action):
        return self.body(air).log_softmax(dim=1).gather(1, action[:, None])


def collect(policy, count=40):
    air = torch.randn(count, 4)
    with torch.no_grad():
        action = torch.distributions.Categorical(logits=policy.body(air)).sample()
        before = policy(air, action)
    gain = -(air[:, 0] + action - 1.0).abs()
    return air, action, before, (gain - gain.mean()) / (gain.std() + 1e-6)


torch.manual_seed(5)
policy = Vents()
optimizer = torch.optim.Adam(policy.parameters(), lr=5e-3)
for _ in range(10):
    air, action, before, gain = collect(policy)
    for _ in range(3):
        ratio = torch.exp(policy(air, action) - before)
        low = torch.clamp(ratio, 0.8, 1.2)
        surrogate = torch.minimum(ratio * gain, low * gain)  # expect: GS808
        optimizer.zero_grad()
        surrogate.mean().neg().backward()
        optimizer.step()
print(f"{gain.mean().item():.3f}")
