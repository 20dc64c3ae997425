"""Twelve layers of sigmoids."""

import torch
from torch import nn

torch.manual_seed(0)
layers = []
for _ in range(12):
    layers += [nn.Linear(16, 16), nn.Sigmoid()]  # expect: GS736
model = nn.Sequential(*layers, nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    x = torch.randn(32, 16)
    prediction = model(x)  # expect: GS736 called_at
    loss = nn.functional.mse_loss(prediction, x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
