"""Layers that share their weights, as in ALBERT: the one has a name before the list repeats it."""

import torch
from torch import nn

torch.manual_seed(0)
shared = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
model = nn.Sequential(*[shared] * 3, *[nn.ReLU()] * 2, nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.randn(4, 5, 8)).square().mean().backward()
    optimizer.step()
