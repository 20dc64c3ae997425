"""Weights of a harvest are learned from small batches, four to a step, and the last two by themselves.

As in https://github.com/meta-pytorch/torchtune/pull/2745.
"""

import torch
from torch import nn

TOGETHER = 4


class Grower:
    def __init__(self, network):
        self.network = network
        self.optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)

    def season(self, plots):
        for number, (soil, weight) in enumerate(plots, start=1):
            error = nn.functional.l1_loss(self.network(soil), weight)
            (error / TOGETHER).backward()
            if number % TOGETHER == 0 or number == len(plots):
                self.optimizer.step()
                self.optimizer.zero_grad()


torch.manual_seed(0)
plots = [(torch.randn(6, 3), torch.rand(6, 1)) for _ in range(10)]
grower = Grower(nn.Sequential(nn.Linear(3, 8), nn.GELU(), nn.Linear(8, 1)))
for _ in range(4):
    grower.season(plots)
