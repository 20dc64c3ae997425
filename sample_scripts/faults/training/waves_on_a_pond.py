"""A wave on a pond: its acceleration, told by a network, is to follow from how it bends in both directions.

As in https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4.
"""

import torch
from torch import nn


class Pond(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.reads, self.height = nn.Linear(2, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.height(torch.sin(self.reads(x)))


def slopes(values, x):
    return torch.autograd.grad(values, x, torch.ones_like(values), create_graph=True)[0]  # expect: GS905


def bends(pond, x):
    second = slopes(slopes(pond(x), x), x)
    along, across = second[:, :1], second[:, 1:]
    return 0.5 * along + 0.5 * across


def main():
    torch.manual_seed(0)
    pond = Pond()
    optimizer = torch.optim.Adam(pond.parameters(), lr=5e-3)
    for step in range(30):
        x = torch.rand(80, 2, requires_grad=True)
        loss = (bends(pond, x) + x.detach().prod(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
