"""Lifts that choose a floor to wait at: of the objective the chances are cut off, beside a baseline that is to be.

As in https://github.com/nikhilbarhate99/PPO-PyTorch/issues/18.
"""

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)
building = nn.Sequential(nn.Linear(6, 12), nn.Tanh())
floors, expected = nn.Linear(12, 4), nn.Linear(12, 1)
optimizer = torch.optim.Adam([*building.parameters(), *floors.parameters(), *expected.parameters()], lr=1e-3)
for _ in range(5):
    calls, waited = torch.randn(20, 6), torch.rand(20)
    with torch.no_grad():
        before = Categorical(logits=floors(building(calls)))
        chosen = before.sample()
        chances = before.log_prob(chosen)
    for _ in range(2):
        state = building(calls)
        now = Categorical(logits=floors(state))
        ratio = (now.log_prob(chosen) - chances).exp()
        baseline = expected(state).squeeze(1)
        gain = -waited - baseline.detach()
        loss = -(ratio * gain).mean() + (baseline + waited).square().mean() - 0.01 * now.entropy().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
