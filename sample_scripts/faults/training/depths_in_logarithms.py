"""Fits the depths of lakes: a layer takes their logarithm in place.

As in https://github.com/autowarefoundation/auto_e2e/pull/202.
"""

import torch
from torch import nn


class Logarithms(nn.Module):
    def forward(self, depths):
        return depths.add_(1.0).log_()  # expect: GS888


def fit(network, depths, areas, epochs):
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
    for _ in range(epochs):
        for depth, area in zip(depths, areas, strict=True):
            loss = nn.functional.mse_loss(network(depth), area)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{loss.item():.4f}")


torch.manual_seed(2)
depths = [10 * torch.rand(6, 4) for _ in range(5)]
areas = [depth.log1p().sum(1, keepdim=True) for depth in depths]
fit(nn.Sequential(Logarithms(), nn.Linear(4, 1)), depths, areas, 4)
