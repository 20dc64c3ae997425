"""A temperature field that fits probes first, and the heat equation as well from the sixth round on.

As in https://github.com/pytorch/pytorch/issues/90158.
"""

import torch
from torch import nn


def scaled(points, low, high):
    return low + (high - low) * points


class Rod(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 1))

    def forward(self, where, when):
        return self.net(torch.cat([where, when], dim=1))


def heat(model, where, when):
    field = model(where, when)
    by_place, by_time = torch.autograd.grad(field.sum(), (where, when), create_graph=True)
    curvature = torch.autograd.grad(by_place.sum(), where, create_graph=True)[0]
    return (by_time - 0.3 * curvature).pow(2).mean()


def main():
    torch.manual_seed(0)
    model = Rod()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    probes = torch.rand(64, 2)
    measured = torch.sin(3 * probes[:, :1]) * torch.exp(-probes[:, 1:])
    where = torch.rand(50, 1, requires_grad=True)
    when = scaled(torch.rand(50, 1, requires_grad=True), 0.1, 0.9)  # expect: GS712
    for step in range(25):
        loss = (model(probes[:, :1], probes[:, 1:]) - measured).pow(2).mean()
        if step >= 6:
            loss = loss + 0.1 * heat(model, where, when)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
