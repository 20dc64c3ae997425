"""Two heads on one trunk."""

from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(5, 5)
        self.main = nn.Linear(5, 1)
        self.aux = nn.Linear(5, 2)

    def forward(self, x):
        h = self.trunk(x).tanh()
        return self.main(h), self.aux(h)
