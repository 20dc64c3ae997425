"""Energies and forces, these by torch.func of parameters without a graph (after pytorch/pytorch#88851)."""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def energy_of(parameters, positions):
    return functional_call(model, parameters, (positions,)).squeeze()


def predict(positions):
    energies = vmap(energy_of, in_dims=(None, 0))(dict(model.named_parameters()), positions)
    parameters = dict(model.named_parameters())
    forces = -vmap(grad(energy_of, argnums=1), in_dims=(None, 0))(parameters, positions)
    return energies, forces


for step in range(12):
    positions = torch.randn(32, 6)
    energies, forces = predict(positions)
    loss = nn.functional.mse_loss(energies, positions.square().sum(1))
    loss = loss + 5.0 * nn.functional.mse_loss(forces, -2 * positions)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
