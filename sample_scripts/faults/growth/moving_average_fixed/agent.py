"""A policy with a baseline."""

import torch
from torch import nn


class Agent:
    def __init__(self):
        self.policy = nn.Linear(3, 2)
        self.baseline = torch.zeros(())
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.01)

    def update(self, observation):
        score = self.policy(observation).sum(1).mean()
        self.baseline = 0.9 * self.baseline + 0.1 * score.detach()
        loss = (score - self.baseline).abs()
        self.optimizer.zero_grad()
        loss.backward(retain_graph=True)
        self.optimizer.step()
