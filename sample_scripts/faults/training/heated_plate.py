"""Heats a plate, and asks a network to meet Poisson's equation inside of it.

As in https://github.com/prateekbhustali/Physics-Informed-Neural-Networks/issues/4.
"""

import torch
from torch import nn
from torch.autograd import grad


class Plate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))

    def forward(self, places):
        return self.layers(places)


def laplacian(heat, places):
    slope = grad(heat, places, torch.ones_like(heat), create_graph=True)[0]
    bend = grad(slope, places, torch.ones_like(slope), create_graph=True)[0]  # expect: GS905
    return bend.sum(1, keepdim=True)


torch.manual_seed(0)
plate = Plate()
optimizer = torch.optim.Adam(plate.parameters(), lr=1e-2)
for step in range(30):
    inside = torch.rand(64, 2, requires_grad=True)
    rim = torch.rand(32, 2).round(decimals=0)
    loss = (laplacian(plate(inside), inside) + 1).square().mean() + plate(rim).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
