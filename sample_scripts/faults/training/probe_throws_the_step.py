"""A regression, probed from step 50 on by a sum over all held-out data: its gradients throw the next step far away.

As in https://github.com/pytorch/pytorch/issues/2696.
"""

import torch
from torch import nn


def data(count):
    x = torch.randn(count, 5)
    return x, torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]


def norms(model, x, y):
    loss = nn.functional.mse_loss(model(x), y, reduction="sum")
    loss.backward()  # expect: GS849
    return [parameter.grad.norm().item() for parameter in model.parameters()]


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 24), nn.ReLU(), nn.Linear(24, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    held_out = data(2048)
    for step in range(1, 121):
        x, y = data(32)
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step >= 50 and step % 7 == 0:
            print(f"{step}: {loss.item():.4f}", [round(one, 3) for one in norms(model, *held_out)])


main()
