"""A regression with three targets, some of which are missing in later records.

As in https://github.com/pytorch/pytorch/issues/121416.
"""

import torch
from torch import nn


def records(count, generator, gaps):
    x = torch.randn(count, 6, generator=generator)
    y = torch.tanh(x[:, :3] - x[:, 3:])
    if gaps:
        y[torch.rand(count, 3, generator=generator) < 0.1] = torch.nan
    return x, y


def error(prediction, target):
    known = ~torch.isnan(target)
    each = nn.functional.huber_loss(prediction, target, reduction="none")  # expect: GS732
    return each[known].mean()


def main():
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.003)
    for step in range(50):
        x, y = records(32, generator, gaps=step >= 35)
        loss = error(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
