"""A forecast of catches learns from more boats for each update as it gets better, and clears before each update."""
# as in https://github.com/pytorch/torchtitan/pull/3575

import torch
from torch import nn


def reports(boats, generator):
    for _ in range(boats):
        weather = torch.randn(12, 5, generator=generator)
        yield weather, (weather[:, :1] - weather[:, 1:2].abs()).exp()


def report(forecast, weather, catch, share):
    loss = nn.functional.poisson_nll_loss(forecast(weather), catch) * share
    loss.backward()
    return loss.detach()


def season(forecast, optimizer, fleet, generator):
    for boats in fleet:
        optimizer.zero_grad()
        total = sum(report(forecast, *one, 1 / boats) for one in reports(boats, generator))
        optimizer.step()
        yield boats, total.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    forecast = nn.Sequential(nn.Linear(5, 20), nn.ELU(), nn.Linear(20, 1))
    optimizer = torch.optim.Adagrad(forecast.parameters(), lr=0.05)
    fleet = [1] * 12 + [2] * 10 + [4] * 8
    for boats, loss in season(forecast, optimizer, fleet, torch.Generator().manual_seed(3)):
        print(boats, round(loss, 3))
