"""Water levels of wells; a class goes through its batches epoch by epoch, each time with an optimizer of its own.

As in https://github.com/alan-turing-institute/deepsensor/issues/47.
"""

import torch
from torch import nn


class Wells:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(3, 12), nn.Softplus(), nn.Linear(12, 1))

    def epoch(self, xs, ys):
        optimizer = torch.optim.NAdam(self.net.parameters(), lr=3e-3)  # expect: GS906
        total = 0.0
        for rain, level in zip(xs, ys, strict=True):
            loss = nn.functional.huber_loss(self.net(rain), level)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        return total / len(xs)


def main():
    torch.manual_seed(0)
    rains = [torch.rand(24, 3) for _ in range(9)]
    levels = [rain.cumsum(1)[:, -1:].sqrt() for rain in rains]
    wells = Wells()
    for epoch in range(6):  # expect: GS906 called_at
        error = wells.epoch(rains, levels)
        print(epoch, round(error, 4))


main()
