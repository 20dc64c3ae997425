"""A lift learns where to wait: policy and value have an optimizer each, made by a method.

As in https://github.com/zhaoyuzhi/deepfillv2/pull/3.
"""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Linear(3, 4)
        self.value = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
        self.prepare(2e-3)

    def prepare(self, rate):
        self.moves = torch.optim.SGD(self.policy.parameters(), lr=rate)
        self.judges = torch.optim.SGD(self.value.parameters(), lr=10 * rate)

    def step(self, seen):
        chosen = torch.distributions.Categorical(logits=self.policy(seen))
        floor = chosen.sample()
        waited = -(floor - seen.sum(1)).abs().unsqueeze(1)
        worth = self.value(seen)
        gain = (waited - worth).detach().squeeze(1)
        self.moves.zero_grad()
        (-(chosen.log_prob(floor) * gain).mean()).backward()
        self.moves.step()
        self.judges.zero_grad()
        loss = (waited - worth).square().mean()
        loss.backward()
        self.judges.step()
        return loss.item()


torch.manual_seed(1)
agent = Agent()
for _ in range(20):
    loss = agent.step(torch.rand(32, 3))
print(f"{loss:.3f}")
