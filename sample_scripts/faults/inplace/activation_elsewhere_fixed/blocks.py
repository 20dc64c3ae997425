"""Residual blocks."""

from torch import nn


class Gate(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.project = nn.Linear(width, width)
        self.squash = nn.Sigmoid()
        self.activation = nn.ReLU(inplace=False)

    def forward(self, x):
        gate = self.squash(self.project(x))
        return x * gate + self.activation(gate)


class ResidualNetwork(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        self.blocks = nn.Sequential(*[Gate(width) for _ in range(depth)])

    def forward(self, x):
        return self.blocks(x)
