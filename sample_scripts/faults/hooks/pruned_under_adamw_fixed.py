"""Pruned network: a mask holds the gradients of what was cut, and nothing decays.

As in https://github.com/pytorch/pytorch/issues/38581.
"""

import torch
from torch import nn


def held(layer, share):
    mask = (layer.weight.detach().abs() > layer.weight.detach().abs().quantile(share)).float()
    layer.weight.register_hook(lambda gradient: gradient * mask)


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
    held(model[0], 0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.0)
    for _ in range(20):
        x = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(model(x), (x[:, 0] > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
