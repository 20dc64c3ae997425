"""The two networks."""

from torch import nn


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden, self.out = nn.Linear(4, 8), nn.Linear(8, 2)

    def forward(self, noise):
        return self.out(self.hidden(noise).relu())  # expect: GS711 shared_at


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))

    def forward(self, points):
        return self.layers(points)


def squared_distance(judged, target):
    return (judged - target).square().mean()
