"""A policy is improved by REINFORCE, its frozen reference stays; the trainer clips the gradients of the reference."""

import copy

import torch
from torch import nn


class Reinforce:
    def __init__(self, policy, lr=0.02, max_norm=0.5):
        self.policy = policy
        self.reference = copy.deepcopy(policy).requires_grad_(False)
        self.optimizer = torch.optim.Adam(policy.parameters(), lr=lr)
        self.max_norm = max_norm

    def loss(self, observations):
        logits = self.policy(observations)
        actions = torch.distributions.Categorical(logits=logits)
        taken = actions.sample()
        reward = (taken == observations.argmax(1)).float()
        with torch.no_grad():
            known = self.reference(observations).log_softmax(1)
        distance = (logits.softmax(1) * (logits.log_softmax(1) - known)).sum(1).mean()
        return -(actions.log_prob(taken) * (reward - reward.mean())).mean() + 0.01 * distance, reward.mean()

    def update(self, observations):
        loss, reward = self.loss(observations)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.policy.parameters(), self.max_norm)
        self.optimizer.step()
        return reward.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    trainer = Reinforce(nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4)))
    for step in range(30):
        reward = trainer.update(torch.randn(64, 4))
    print(f"reward {reward:.2f}")
