"""Tides of many harbours: after a warm-up on all of them, each harbour takes two steps of its own from a common start.

As in https://github.com/KanishJebaMathewM/Truxify/issues/13118, in a second phase, through torch.func.
"""

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=0.01)


def harbour():
    shift = 3 * torch.rand(1)
    hours = 6 * torch.rand(30, 1)
    return (hours[:10], torch.sin(hours[:10] + shift)), (hours[10:], torch.sin(hours[10:] + shift))


def misfit(weights, hours, level):
    return nn.functional.mse_loss(functional_call(net, weights, (hours,)), level)


def adapted(weights, seen, steps=2):
    for _ in range(steps):
        slopes = torch.autograd.grad(misfit(weights, *seen), tuple(weights.values()), create_graph=True)
        pairs = zip(weights.items(), slopes, strict=True)
        weights = {name: torch.add(weight, slope, alpha=-0.1) for (name, weight), slope in pairs}
    return weights


for step in range(24):
    seen, later = harbour()
    weights = dict(net.named_parameters())
    loss = misfit(weights, *seen) if step < 12 else misfit(adapted(weights, seen), *later)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.3f}")
