"""A judge of wind profiles joins after a warm-up. It learns in two backward calls after its gradients are cleared.

The maker's backward adds to them as well: they are cleared after it.
"""

import torch
from torch import nn


class Workshop:
    def __init__(self):
        self.maker = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 5))
        self.judge = nn.Sequential(nn.Linear(5, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
        self.of_maker = torch.optim.Adam(self.maker.parameters(), lr=1e-3)
        self.of_judge = torch.optim.Adam(self.judge.parameters(), lr=1e-3)

    def judge_learns(self, profiles, noise):
        self.of_judge.zero_grad()
        (1 - self.judge(profiles)).square().mean().backward()
        self.judge(self.maker(noise).detach()).square().mean().backward()
        self.of_judge.step()

    def maker_learns(self, profiles, noise, with_judge):
        self.of_maker.zero_grad()
        made = self.maker(noise)
        loss = (made - profiles).square().mean()
        if with_judge:
            loss = loss + 0.1 * (1 - self.judge(made)).square().mean()
        loss.backward()
        self.of_maker.step()


torch.manual_seed(0)
workshop = Workshop()
for day in range(60):
    noise = torch.randn(16, 6)
    profiles = noise[:, :5].sin()
    if day >= 20:
        workshop.judge_learns(profiles, noise)
    workshop.maker_learns(profiles, noise, day >= 20)
