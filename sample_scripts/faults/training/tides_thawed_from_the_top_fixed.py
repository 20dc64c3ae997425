"""Tides from three layers that are let learn one after the other.

As in https://discuss.pytorch.org/t/best-practice-for-freezing-layers/58156.
"""

import torch
from torch import nn

torch.manual_seed(0)
hours = torch.rand(256, 1) * 6
height = torch.sin(hours) + 0.3 * torch.sin(2 * hours)
layers = nn.Sequential(nn.Linear(1, 24), nn.Tanh(), nn.Linear(24, 24), nn.Tanh(), nn.Linear(24, 1))
optimizer = torch.optim.SGD(layers[4].parameters(), lr=0.05, momentum=0.9)
thaws = {12: layers[2], 24: layers[0]}
for round_ in range(40):
    if round_ in thaws:
        optimizer.add_param_group({"params": thaws[round_].parameters()})
    loss = nn.functional.mse_loss(layers(hours), height)
    loss.backward()
    optimizer.step()
    layers.zero_grad()
    if round_ % 10 == 9:
        print(f"round {round_} loss {loss.item():.4f}")
