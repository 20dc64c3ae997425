"""Score-function training of a Gaussian policy that is to hit a target.

As in https://github.com/pytorch/pytorch/issues/10943.
"""

import torch
from torch import nn
from torch.distributions import Independent, Normal


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 32), nn.Tanh())
        self.mean = nn.Linear(32, 2)
        self.spread = nn.Parameter(torch.zeros(2))

    def forward(self, state):
        mean = self.mean(self.body(state))
        return Independent(Normal(mean, self.spread.exp().expand_as(mean)), 1)


def reward_of(state, action):
    return -(action - state[:, :2] * 2).square().sum(-1)


def main():
    torch.manual_seed(0)
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)
    baseline = 0.0
    for step in range(40):
        state = torch.randn(64, 4)
        actions = policy(state)
        action = actions.sample()
        reward = reward_of(state, action.detach())
        loss = -(actions.log_prob(action) * (reward - baseline)).mean()
        baseline += 0.1 * (reward.mean().item() - baseline)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: reward {reward.mean():.3f}")


main()
