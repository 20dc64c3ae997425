"""A crane that learns from a log with soft values, of all joints together.

As in https://github.com/sunwuzhou03/reinforcement-learning-lab/issues/1.
"""

import torch
from torch import nn
from torch.distributions import Laplace
from torch.nn import functional as F


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(5, 24), nn.ELU())
        self.middle, self.width = nn.Linear(24, 3), nn.Linear(24, 3)

    def forward(self, seen):
        h = self.body(seen)
        law = Laplace(self.middle(h), self.width(h).exp().clamp(0.05, 2))
        move = law.rsample()
        return move, law.log_prob(move).sum(1, keepdim=True)


torch.manual_seed(0)
policy, critic = Policy(), nn.Sequential(nn.Linear(8, 24), nn.ELU(), nn.Linear(24, 1))
values = torch.optim.Adam(critic.parameters(), lr=3e-3)
moves = torch.optim.Adam(policy.parameters(), lr=1e-3)
for _ in range(10):
    seen, done, then = torch.randn(32, 5), torch.randn(32, 3), torch.randn(32, 5)
    reward = -done.abs().sum(1, keepdim=True)
    with torch.no_grad():
        move, likely = policy(then)
        worth = critic(torch.cat([then, move], 1)) - 0.1 * likely
    loss = F.smooth_l1_loss(critic(torch.cat([seen, done], 1)), reward + 0.9 * worth)
    values.zero_grad()
    loss.backward()
    values.step()
    critic.requires_grad_(False)
    move, likely = policy(seen)
    moves.zero_grad()
    (0.1 * likely - critic(torch.cat([seen, move], 1))).mean().backward()
    moves.step()
    critic.requires_grad_(True)
