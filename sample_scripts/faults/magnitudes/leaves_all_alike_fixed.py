"""Outlines of leaves become points on a sphere, by a triplet loss.

As in https://github.com/xiaolonw/caffe-video_triplet/issues/8.
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Settings:
    kinds: int = 8
    points: int = 24
    margin: float = 0.4
    rate: float = 1e-3
    steps: int = 160


class Points(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.walk = nn.GRU(4, 32, num_layers=2, batch_first=True)
        self.head = nn.Linear(32, 16)

    def forward(self, x):
        states, _ = self.walk(x.unflatten(1, (-1, 4)))
        return nn.functional.normalize(self.head(states.mean(1)), dim=1)


def outlines(settings, kinds, generator):
    centres = torch.randn(settings.kinds, settings.points, generator=torch.Generator().manual_seed(9))
    return centres[kinds] + 0.7 * torch.randn(len(kinds), settings.points, generator=generator)


def hardest(points, kinds, margin):
    """Of each point: the farthest of its kind, and the nearest of another."""
    apart = ((points[:, None] - points).square().sum(2) + 1e-8).sqrt()
    same = kinds[:, None] == kinds
    farthest, nearest = apart.masked_fill(~same, 0.0).amax(1), apart.masked_fill(same, 10.0).amin(1)
    return (farthest - nearest + margin).clamp(min=0.0).mean()


def scaled(rate, count):
    """The rate for so many samples in a batch, of one that is right for 16."""
    return rate * count / 16


def main():
    settings = Settings()
    torch.manual_seed(2)
    generator = torch.Generator().manual_seed(4)
    net = Points(settings)
    optimizer = torch.optim.Adam(net.parameters(), lr=scaled(settings.rate, 48))
    for step in range(settings.steps):
        kinds = torch.randint(settings.kinds, (48,), generator=generator)
        points = net(outlines(settings, kinds, generator))
        loss = hardest(points, kinds, settings.margin)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 19:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
