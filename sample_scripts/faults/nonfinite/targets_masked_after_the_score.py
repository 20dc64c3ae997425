"""Yields of fields from their soils; fields that were not harvested have NaN, and are left out of the score too late.

As in https://github.com/pytorch/pytorch/issues/121416.
"""

import torch
from torch import nn

SOILS, FIELDS = 6, 400


def survey(generator):
    soils = torch.randn(FIELDS, SOILS, generator=generator)
    yields = soils[:, :2].sum(1) + 0.1 * torch.randn(FIELDS, generator=generator)
    lost = torch.rand(FIELDS, generator=generator) < 0.05
    return soils, yields.masked_fill(lost, float("nan"))


def score(mean, spread, measured):
    known = ~torch.isnan(measured)
    each = spread.log() + ((measured - mean) / spread).square()  # expect: GS732
    return torch.where(known, each, torch.zeros_like(each)).sum() / known.sum()


def main(epochs=3):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(5)
    soils, yields = survey(generator)
    net = nn.Sequential(nn.Linear(SOILS, 16), nn.Tanh(), nn.Linear(16, 2))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    for epoch in range(epochs):
        for chosen in torch.randperm(FIELDS, generator=generator).split(50):
            mean, free = net(soils[chosen]).unbind(1)
            loss = score(mean, nn.functional.softplus(free) + 0.05, yields[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch} score {loss.item():.3f}")


if __name__ == "__main__":
    main()
