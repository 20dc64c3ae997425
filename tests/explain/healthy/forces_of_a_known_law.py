"""A potential that is fitted to forces: those of the data come from a law, by autograd and without a graph."""

import torch
from torch import nn


def law(place):
    place = place.clone().requires_grad_(True)
    energy = (1 - torch.exp(-place.norm(dim=1))).pow(2).sum()
    return -torch.autograd.grad(energy, place)[0]


def main():
    torch.manual_seed(0)
    potential = nn.Sequential(nn.Linear(3, 24), nn.Tanh(), nn.Linear(24, 1))
    optimizer = torch.optim.Adam(potential.parameters(), lr=0.01)
    place = torch.randn(64, 3)
    force = law(place)
    for step in range(20):
        here = place.clone().requires_grad_(True)
        (slope,) = torch.autograd.grad(potential(here).sum(), here, create_graph=True)
        loss = (-slope - force).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
