"""Two layers are exchanged in one assignment, and the optimizer is given the new ones in the place of the old."""

import torch
from torch import nn


class Prices(nn.Module):
    def __init__(self, units=24):
        super().__init__()
        self.inner, self.outer = nn.Linear(6, units), nn.Linear(units, 1)

    def forward(self, flats):
        return self.outer(self.inner(flats).tanh())


def thin_out(prices, units):
    strongest = prices.outer.weight.detach().abs().squeeze(0).topk(units).indices
    inner, outer = nn.Linear(6, units), nn.Linear(units, 1)
    with torch.no_grad():
        inner.weight.copy_(prices.inner.weight[strongest])
        outer.weight.copy_(prices.outer.weight[:, strongest])
    prices.inner, prices.outer = inner, outer


torch.manual_seed(0)
prices = Prices()
optimizer = torch.optim.Adam(prices.parameters(), lr=0.01)
for day in range(30):
    if day == 15:
        thin_out(prices, 9)
        optimizer.param_groups.clear()
        optimizer.state.clear()
        optimizer.add_param_group({"params": list(prices.parameters())})
    flats = torch.randn(32, 6)
    loss = (prices(flats) - flats.prod(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
