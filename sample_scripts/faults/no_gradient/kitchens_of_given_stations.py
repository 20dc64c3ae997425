"""How long an order takes that goes through the stations of a kitchen; the line of stations is given what it runs.

As in https://github.com/asyml/texar-pytorch/issues/72.
"""

import torch
from torch import nn


class Line(nn.Module):
    def __init__(self, stations, slowest=5.0):
        super().__init__()
        self.stations = stations  # expect: GS725
        self.slowest = slowest

    def forward(self, order):
        for station in self.stations:
            order = order + torch.tanh(station(order))
        return order.clamp(-self.slowest, self.slowest)


def kitchen(width, depth):
    stations = []
    for _ in range(depth):
        stations.append(nn.Linear(width, width))  # expect: GS725 made_at
    return nn.Sequential(nn.Linear(3, width), Line(stations=stations), nn.Linear(width, 1))


torch.manual_seed(0)
model = kitchen(8, 2)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(25):
    order = torch.rand(32, 3)
    minutes = (order[:, :1] * order[:, 1:2]).sqrt() + order[:, 2:]
    optimizer.zero_grad()
    nn.functional.smooth_l1_loss(model(order), minutes).backward()
    optimizer.step()
