"""A bell's sound is a sum of three partials, whose loudness is to be learned; the loudnesses are gathered in a tensor.

As in https://github.com/lululxvi/deepxde/pull/1318.
"""

import math

import torch
from torch import nn


class Bell(nn.Module):
    def __init__(self):
        super().__init__()
        self.pitch = nn.Parameter(torch.tensor([1.9]))
        self.hum = nn.Parameter(torch.rand(1))
        self.prime = nn.Parameter(torch.rand(1))
        self.tierce = nn.Parameter(torch.rand(1))

    def forward(self, time):
        loudness = torch.cat([self.hum, self.prime, self.tierce])
        angles = math.tau * self.pitch * time[:, None] * torch.tensor([0.5, 1.0, 1.2])
        return torch.sin(angles) @ loudness


def main():
    torch.manual_seed(0)
    bell = Bell()
    optimizer = torch.optim.Adam(bell.parameters(), lr=0.01)
    for step in range(30):
        time = torch.rand(64)
        sound = 0.6 * torch.sin(math.tau * time) + 0.3 * torch.sin(math.tau * 2 * time)
        loss = (bell(time) - sound).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
