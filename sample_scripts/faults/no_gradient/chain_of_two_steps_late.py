"""Samples walk down an energy; a walk is one step long, and from the twentieth on two. As in https://github.com/pytorch/pytorch/issues/17124."""

import torch
from torch import nn


def walk(energy, start, steps, size=0.1):
    x = start.clone().requires_grad_(True)
    for _ in range(steps):
        (force,) = torch.autograd.grad(energy(x).sum(), x)
        x = x - size * force + 0.01 * torch.randn_like(x)
        x = x.detach()  # expect: GS729
    return x.detach()


if __name__ == "__main__":
    torch.manual_seed(0)
    energy = nn.Sequential(nn.Linear(2, 32), nn.SiLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(energy.parameters(), lr=1e-3)
    for step in range(41):
        data = torch.randn(64, 2) * 0.3 + 1
        made = walk(energy, torch.randn(64, 2), 1 + step // 20)
        real, fake = energy(data), energy(made)
        loss = (real - fake).mean() + 0.1 * (real.square() + fake.square()).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"loss {loss.item():.3f}")
