"""A network keeps its features for an auxiliary loss, and is copied into a target network every few steps."""

from copy import deepcopy

import torch
from torch import nn


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 24), nn.ReLU())
        self.value = nn.Linear(24, 1)

    def forward(self, x):
        features = self.body(x)
        return self.value(features), features


torch.manual_seed(0)
online = Network()
target = deepcopy(online)
optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
for step in range(12):
    if step and step % 5 == 0:
        target = deepcopy(online)
    x = torch.randn(16, 4)
    with torch.no_grad():
        wanted = x.sum(1, keepdim=True) + 0.9 * target(x + 0.1)[0]
    value, features = online(x)
    loss = nn.functional.mse_loss(value, wanted) + 1e-3 * features.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
