"""Tides are drawn by one net and judged by another; both are cleared in turn by a line that was copied.

As in https://github.com/Adversarial-Deep-Learning/code-soup/issues/69.
"""

import torch
from torch import nn


def tides(count):
    phase, hours = 6 * torch.rand(count, 1), torch.linspace(0, 6, 12)
    return torch.sin(hours + phase) + 0.1 * torch.randn(count, 12)


def main():
    torch.manual_seed(0)
    draws = nn.Sequential(nn.Linear(4, 24), nn.Tanh(), nn.Linear(24, 12))
    judges = nn.Sequential(nn.Linear(12, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))
    drawing = torch.optim.Adam(draws.parameters(), lr=2e-3)
    judging = torch.optim.SGD(judges.parameters(), lr=1e-2)
    for step in range(24):
        drawn = draws(torch.randn(32, 4))
        drawing.zero_grad()
        nn.functional.softplus(-judges(drawn)).mean().backward()
        drawing.step()

        apart = nn.functional.softplus(judges(drawn.detach())) + nn.functional.softplus(-judges(tides(32)))
        apart = apart.mean()
        judging.zero_grad()
        apart.backward()
        judging.step()
        if step % 8 == 7:
            print(f"{step}: {apart.item():.4f}")


main()
