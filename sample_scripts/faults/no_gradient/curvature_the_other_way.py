"""A network is fitted to a beam's bending, whose second derivative is given.

As in https://github.com/pytorch/pytorch/issues/60027.
"""

import torch
from torch import nn


def slope_and_curvature(w, x):
    ones = torch.ones_like(w)
    (slope,) = torch.autograd.grad(w, x, ones, create_graph=True)
    (curvature,) = torch.autograd.grad(w, slope, ones, create_graph=True)  # expect: GS729
    return slope, curvature


def main():
    torch.manual_seed(0)
    beam = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(beam.parameters(), lr=0.01)
    for step in range(20):
        x = torch.rand(32, 1, requires_grad=True)
        slope, curvature = slope_and_curvature(beam(x), x)
        loss = (curvature - torch.sin(3 * x)).square().mean() + 0.1 * slope.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
