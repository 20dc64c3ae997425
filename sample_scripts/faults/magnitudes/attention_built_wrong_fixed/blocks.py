"""Pools a sequence by learned weights."""

from torch import nn


class Pool(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Sequential(
            nn.Linear(width, 1),
            nn.Softmax(dim=1),
        )

    def forward(self, x):
        return (self.score(x) * x).sum(1)
