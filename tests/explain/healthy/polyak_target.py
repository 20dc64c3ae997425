"""Q-learning with a separate target network moved by polyak averaging after every update."""

import copy

import torch
import torch.nn.functional as F
from torch import nn


class Agent:
    def __init__(self, n_states=6, n_actions=2, tau=0.05):
        self.q = nn.Sequential(nn.Linear(n_states, 24), nn.ReLU(), nn.Linear(24, n_actions))
        self.q_target = copy.deepcopy(self.q)
        for p in self.q_target.parameters():
            p.requires_grad_(False)
        self.opt = torch.optim.Adam(self.q.parameters(), lr=1e-2)
        self.tau = tau

    def learn(self, s, a, r, s2, done):
        with torch.no_grad():
            target = r + 0.9 * (1 - done) * self.q_target(s2).max(1).values
        loss = F.mse_loss(self.q(s).gather(1, a[:, None]).squeeze(1), target)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.soft_update()
        return loss.item()

    @torch.no_grad()
    def soft_update(self):
        for pt, p in zip(self.q_target.parameters(), self.q.parameters(), strict=False):
            pt.mul_(1 - self.tau).add_(p, alpha=self.tau)


def transitions(n=48, n_states=6):
    s = torch.randint(0, n_states - 1, (n,))
    a = torch.randint(0, 2, (n,))
    s2 = (s + 2 * a - 1).clamp(min=0)
    done = (s2 == n_states - 1).float()
    return F.one_hot(s, n_states).float(), a, done, F.one_hot(s2, n_states).float(), done


torch.manual_seed(0)
agent = Agent()
for i in range(40):
    loss = agent.learn(*transitions())
    if i % 10 == 9:
        print(f"update {i + 1} loss {loss:.5f}")
