"""MAML whose inner loop asks for the derivatives of adapted weights, and runs the model with the old ones."""

import torch
from torch import nn
from torch.func import functional_call


def updated(weights, slopes, rate):
    pairs = zip(weights.items(), slopes, strict=True)
    return {name: one - rate * slope for (name, one), slope in pairs}  # expect: GS729 made_at


def adapt(model, x, y, steps):
    weights = dict(model.named_parameters())
    for _ in range(steps):
        loss = nn.functional.mse_loss(model(x), y)  # expect: GS729
        slopes = torch.autograd.grad(loss, list(weights.values()), create_graph=True)  # expect: GS729 fails_at
        weights = updated(weights, slopes, 0.1)
    return weights


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(3):
    x = torch.rand(10, 1)
    optimizer.zero_grad()
    adapted = adapt(model, x, x.sin(), 2)
    nn.functional.mse_loss(functional_call(model, adapted, (x,)), x.sin()).backward()
    optimizer.step()
print("trained")
