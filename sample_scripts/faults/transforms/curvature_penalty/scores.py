"""A score of two parts."""

from torch import nn
from torch.nn import functional as F


class Score(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 8)
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(F.hardtanh(self.layer(x)))  # expect: GS773
