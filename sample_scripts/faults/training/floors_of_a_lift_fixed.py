"""A lift learns which floor to wait at, several steps on each day's calls, and clips how far it leaves the old policy.

As in https://github.com/abhisheksuran/Reinforcement_Learning/issues/4.
"""

import torch
from torch import nn
from torch.distributions import Categorical


class Lift(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))

    def chances(self, calls, floors):
        return Categorical(logits=self.net(calls)).log_prob(floors)


def learn(lift, optimizer, calls, floors, gains):
    with torch.no_grad():
        before = lift.chances(calls, floors)
    for _ in range(4):
        ratio = (lift.chances(calls, floors) - before).exp()
        clipped = ratio.clamp(0.8, 1.2)
        loss = -torch.minimum(ratio * gains, clipped * gains).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


torch.manual_seed(0)
lift = Lift()
optimizer = torch.optim.Adam(lift.parameters(), lr=1e-2)
for _ in range(3):
    calls = torch.randn(32, 4)
    with torch.no_grad():
        floors = Categorical(logits=lift.net(calls)).sample()
    gains = (floors == 1).float() - 0.3
    learn(lift, optimizer, calls, floors, gains)
