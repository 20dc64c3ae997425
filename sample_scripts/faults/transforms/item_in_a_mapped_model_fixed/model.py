"""A model that divides by the largest entry."""

from torch import nn


class Scaled(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layer = nn.Linear(width, 1)

    def forward(self, x):
        largest = x.abs().max()
        return self.layer(x / largest)
