"""Steers a boat: three passes over one batch with the ratio of new to old probabilities, cut off on both sides.

As in https://github.com/astariul/encode-attend-navigate-pytorch/pull/3.
"""

import torch
from torch import nn
from torch.distributions import Normal


class Helm(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean, self.value = nn.Linear(3, 1), nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
        self.spread = nn.Parameter(torch.zeros(1))

    def angles(self, seen):
        return Normal(self.mean(seen), self.spread.exp())


def losses(helm, seen, angle, old, returns):
    ratio = (helm.angles(seen).log_prob(angle) - old).exp()
    error = returns - helm.value(seen)
    return -torch.min(ratio * error, ratio.clamp(0.8, 1.2) * error).mean(), error.square().mean()  # expect: GS881


torch.manual_seed(2)
helm = Helm()
optimizer = torch.optim.Adam(helm.parameters(), lr=3e-3)
for _ in range(8):
    seen = torch.randn(48, 3)
    with torch.no_grad():
        angle = helm.angles(seen).sample()
        old = helm.angles(seen).log_prob(angle)
    returns = -(angle - seen.sum(1, keepdim=True)).square()
    for _ in range(3):
        policy_loss, value_loss = losses(helm, seen, angle, old, returns)
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        optimizer.step()
print(f"{returns.mean().item():.3f}")
