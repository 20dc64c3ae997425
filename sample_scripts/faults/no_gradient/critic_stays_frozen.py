"""A generator that joins after a warm-up freezes the critic for its step, and nobody thaws it.

As in https://github.com/Lightning-AI/pytorch-lightning/issues/20685.
"""

import torch
from torch import nn

torch.manual_seed(0)
maker, critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(2, 6), nn.ReLU(), nn.Linear(6, 1))
makes, judges = torch.optim.Adam(maker.parameters()), torch.optim.Adam(critic.parameters())


def judge(real):
    made = maker(torch.randn(len(real), 3)).detach()
    loss = nn.functional.softplus(-critic(real)).mean() + nn.functional.softplus(critic(made)).mean()
    judges.zero_grad()
    loss.backward()
    judges.step()


def make(count):
    critic.requires_grad_(False)  # expect: GS720
    loss = nn.functional.softplus(-critic(maker(torch.randn(count, 3)))).mean()
    makes.zero_grad()
    loss.backward()
    makes.step()


for step in range(20):
    judge(torch.randn(8, 2) + 1)
    if step >= 11:
        make(8)
print("done")
