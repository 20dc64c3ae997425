"""Biases that start far below zero: no unit ever fires."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 1))
nn.init.constant_(model[0].bias, -10.0)
optimizer = torch.optim.Adam(model.parameters())
for step in range(9):
    x = torch.randn(32, 4)
    prediction = model(x)  # expect: GS734
    loss = nn.functional.mse_loss(prediction, x.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
