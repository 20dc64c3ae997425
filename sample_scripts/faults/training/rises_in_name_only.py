"""A dose's effect that can only rise: weights below zero are to be set to zero, from the second half on.

As in https://github.com/YU1ut/MixMatch-pytorch/pull/23, of a clamp.
"""

import torch
from torch import nn


def keep_positive(layers):
    for layer in layers:
        if isinstance(layer, nn.Linear):
            weight = layer.weight.detach()
            for row in weight:
                row = row.clamp(min=0)  # expect: GS706


def main():
    torch.manual_seed(0)
    effect = nn.Sequential(nn.Linear(1, 16), nn.Sigmoid(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(effect.parameters(), lr=0.02)
    for step in range(50):
        dose = torch.rand(64, 1)
        measured = dose / (dose + 0.3) + 0.05 * torch.randn(64, 1)
        loss = nn.functional.mse_loss(effect(dose), measured)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step >= 25:
            keep_positive(effect)
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
