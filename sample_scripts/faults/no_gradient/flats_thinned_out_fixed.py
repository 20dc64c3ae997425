"""Prices of flats by a small network that is trained, loses its weakest hidden units and is trained on."""

import torch
from torch import nn


class Prices(nn.Module):
    def __init__(self, units=24):
        super().__init__()
        self.inner = nn.Linear(6, units)
        self.outer = nn.Linear(units, 1)

    def forward(self, flats):
        return self.outer(self.inner(flats).tanh())


def thin_out(prices, units):
    strongest = prices.outer.weight.detach().abs().squeeze(0).topk(units).indices
    inner, outer = nn.Linear(6, units), nn.Linear(units, 1)
    with torch.no_grad():
        inner.weight.copy_(prices.inner.weight[strongest])
        inner.bias.copy_(prices.inner.bias[strongest])
        outer.weight.copy_(prices.outer.weight[:, strongest])
        outer.bias.copy_(prices.outer.bias)
    prices.inner, prices.outer = inner, outer


def season(prices, optimizer, days):
    for day in range(days):
        flats = torch.randn(32, 6)
        loss = (prices(flats) - flats.prod(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{day + 1} days: {loss.item():.3f}")


def years(prices):
    optimizer = torch.optim.SGD(prices.parameters(), lr=0.05, momentum=0.9)
    season(prices, optimizer, 18)
    thin_out(prices, 9)
    optimizer = torch.optim.SGD(prices.parameters(), lr=0.05, momentum=0.9)
    season(prices, optimizer, days=24)


if __name__ == "__main__":
    torch.manual_seed(0)
    years(Prices())
