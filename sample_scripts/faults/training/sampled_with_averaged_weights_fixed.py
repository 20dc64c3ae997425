"""A generator of points is sampled with averaged weights, which a helper copies parameter by parameter.

As in https://github.com/huggingface/diffusers/issues/2321.
"""

import copy

import torch
from torch import nn


def follow(average, model, decay=0.9):
    for kept, p in zip(average.parameters(), model.parameters(), strict=True):
        kept.data.mul_(decay).add_(p.data, alpha=1 - decay)


def take(source, target):
    for one, other in zip(source.parameters(), target.parameters(), strict=True):
        other.data.copy_(one.data)


def noisy(points):
    t = torch.rand(len(points), 1)
    noise = torch.randn_like(points)
    return torch.cat([points * (1 - t) + noise * t, t], 1), noise - points


@torch.no_grad()
def sample(model, count):
    points = torch.randn(count, 2)
    for t in torch.linspace(1, 0.25, 4):
        points = points - 0.25 * model(torch.cat([points, t.expand(count, 1)], 1))
    return points


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(3, 32), nn.SiLU(), nn.Linear(32, 2))
    average = copy.deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.005)
    for step in range(48):
        inputs, velocity = noisy(torch.randn(32, 2) * 0.1 + torch.tensor([1.0, -1.0]))
        loss = (model(inputs) - velocity).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        follow(average, model)
        if step % 12 == 11:
            live = copy.deepcopy(model)
            take(average, model)
            print(f"{step}: {loss.item():.4f} {sample(model, 64).mean(0).tolist()}")
            take(live, model)


main()
