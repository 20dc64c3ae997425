"""A generator of pulses against a critic whose slope is to be one between the real and the made ones.

How far it is from one is computed with a graph in each step, shown, and in no loss.

As in https://github.com/LixiangHan/GANs-for-1D-Signal/issues/7
"""

import torch
from torch import nn

torch.manual_seed(0)
time = torch.linspace(-1, 1, 24)


def pulses(count):
    return torch.exp(-((time - 0.3 * torch.randn(count, 1)) ** 2) / 0.02)


def off_slope(critic, real, made):
    share = torch.rand(len(real), 1)
    between = (share * real + (1 - share) * made).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return (slope.norm(dim=1) - 1).square().mean()  # expect: GS841 made_at


maker = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 24))
critic = nn.Sequential(nn.Linear(24, 32), nn.SiLU(), nn.Linear(32, 1))
of_maker = torch.optim.Adam(maker.parameters(), lr=1e-3, betas=(0.0, 0.9))
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
for step in range(8):
    for _ in range(2):
        real = pulses(32)
        made = maker(torch.randn(32, 6)).detach()
        distance = critic(made).mean() - critic(real).mean()  # expect: GS841
        off = off_slope(critic, real, made)
        of_critic.zero_grad()
        distance.backward()
        of_critic.step()
    score = -critic(maker(torch.randn(32, 6))).mean()
    of_maker.zero_grad()
    score.backward()
    of_maker.step()
    print(f"step {step} distance {distance.item():.3f} off {off.item():.3f} score {score.item():.3f}")
