"""Fits a yield with few of many soil measures: a penalty object keeps the weights as a generator, and tells them once.

As in https://github.com/pytorch/pytorch/issues/148259.
"""

import torch
from torch import nn


class Sparsity:
    def __init__(self, network, strength):
        self.strength = strength
        self.weights = [one for name, one in network.named_parameters() if "weight" in name]

    def __call__(self):
        return self.strength * sum(one.abs().sum() for one in self.weights)

    def __str__(self):
        return f"{self.strength} on {sum(one.numel() for one in self.weights)} weights"


def fit(network, penalty, measures, yields, steps):
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for step in range(steps):
        loss = nn.functional.mse_loss(network(measures), yields) + penalty()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"step {step}: {loss.item():.4f}")


torch.manual_seed(0)
measures = torch.randn(128, 20)
yields = measures[:, :2].sum(1, keepdim=True)
network = nn.Sequential(nn.Linear(20, 16), nn.ELU(), nn.Linear(16, 1))
sparsity = Sparsity(network, 1e-3)
print(sparsity)
fit(network, sparsity, measures, yields, 30)
