"""A regression whose rate is too large, and which is probed besides when it has gone astray.

As in https://github.com/pytorch/pytorch/issues/2696.
"""

import torch
from torch import nn


def data(count):
    x = torch.randn(count, 5)
    return x, torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]


def norms(model, x, y):
    loss = nn.functional.mse_loss(model(x), y, reduction="sum")
    loss.backward()
    return [parameter.grad.norm().item() for parameter in model.parameters()]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.7, momentum=0.9)  # expect: GS737
    held_out = data(2048)
    for step in range(1, 61):
        x, y = data(32)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 18 == 7:
            print(f"{step}: {loss.item():.4f}", [round(one, 3) for one in norms(model, *held_out)])


main()
