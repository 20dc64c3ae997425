"""Features that are read through .data, on a line of its own."""

import torch
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Sequential(nn.Linear(4, 8), nn.Tanh()), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
inputs, targets = torch.randn(16, 4), torch.randn(16, 1)
for step in range(5):
    features = encoder(inputs)
    scale = features.shape[0] ** -0.5
    features = features.data  # expect: GS721
    loss = (head(features * scale) - targets).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
