"""A GRU with a linear layer behind it."""

from torch import nn


class Reader(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.recurrent = nn.GRU(width, 8)
        self.out = nn.Linear(8, width)

    def forward(self, chunk, state):
        hidden, state = self.recurrent(chunk, state)  # expect: GS712 shared_at
        return self.out(hidden), state
