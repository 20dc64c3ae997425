"""REINFORCE with a Gaussian policy on a reaching task, sampled actions enter the loss by their log_prob only."""

import torch
from torch import nn
from torch.distributions import Independent, Normal


class GaussianPolicy(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.mean = nn.Sequential(nn.Linear(obs_dim, 32), nn.Tanh(), nn.Linear(32, act_dim))
        self.log_std = nn.Parameter(torch.full((act_dim,), -0.5))

    def forward(self, obs):
        return Independent(Normal(self.mean(obs), self.log_std.exp()), 1)


class Learner:
    def __init__(self, policy, lr=5e-3, entropy=1e-3):
        self.policy = policy
        self.baseline = nn.Linear(3, 1)
        params = [*policy.parameters(), *self.baseline.parameters()]
        self.optimizer = torch.optim.Adam(params, lr=lr)
        self.entropy = entropy

    def iterate(self, obs):
        dist = self.policy(obs)
        action = dist.sample()
        reward = -(action - obs[:, :2]).pow(2).sum(-1)
        value = self.baseline(obs).squeeze(-1)
        advantage = reward - value.detach()
        pg = -(dist.log_prob(action) * advantage).mean()
        loss = pg + 0.5 * (value - reward).pow(2).mean() - self.entropy * dist.entropy().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return reward.mean().item()


torch.manual_seed(0)
learner = Learner(GaussianPolicy(3, 2))
for i in range(1, 101):
    reward = learner.iterate(torch.randn(128, 3))
    if i % 25 == 0:
        print(f"iteration {i} reward {reward:.3f}")
