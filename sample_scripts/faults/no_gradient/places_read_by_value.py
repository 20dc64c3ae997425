"""Rainfall by the hour: a learned table of places is filled, and then only its values are added.

As in https://github.com/R0oup1iao/Traffic-Transformer/issues/4.
"""

import torch
from torch import nn

HOURS = 8


class Places(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.table = nn.Parameter(torch.empty(HOURS, width))
        nn.init.normal_(self.table, std=0.2)

    def forward(self, x):
        table = self.table.data.unsqueeze(0)  # expect: GS721
        return x + table[:, : x.shape[1]]


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 12), Places(12), nn.Tanh(), nn.Flatten(), nn.Linear(12 * HOURS, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(30):
    rain = torch.randn(32, HOURS, 1)
    loss = (model(rain)[:, 0] - rain[:, -2:].sum((1, 2))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
