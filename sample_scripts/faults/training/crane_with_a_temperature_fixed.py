"""A crane's swing: the policy and its temperature have a loss and an optimizer each, two backward calls a step.

As in https://github.com/mani-skill/ManiSkill/issues/899.
"""

import torch
from torch import nn
from torch.distributions import Normal


class Learner:
    def __init__(self):
        self.policy = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 2))
        self.log_alpha = nn.Parameter(torch.tensor([-1.5]))
        self.moves = torch.optim.Adam(self.policy.parameters(), lr=3e-3)
        self.cools = torch.optim.Adam([self.log_alpha], lr=1e-2)

    def update(self, swing):
        mean, deviation = self.policy(swing).chunk(2, dim=1)
        drawn = Normal(mean, deviation.exp())
        pull = drawn.rsample()
        logarithm = drawn.log_prob(pull).sum(dim=1)
        alpha = self.log_alpha.exp()
        worth = -(swing[:, :1] + pull).square().sum(dim=1)
        for optimizer in (self.moves, self.cools):
            optimizer.zero_grad()
        (alpha.detach() * logarithm - worth).mean().backward(retain_graph=True)
        (-alpha * (logarithm.detach() + 1.0)).mean().backward()
        for optimizer in (self.moves, self.cools):
            optimizer.step()


torch.manual_seed(6)
learner = Learner()
for _ in range(12):
    learner.update(torch.randn(40, 4))
