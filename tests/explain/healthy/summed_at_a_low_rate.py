"""Gradients of eight parts are added up, and the rate is meant for their sum: the loss falls."""

import torch
from torch import nn

torch.manual_seed(0)
x = torch.randn(256, 6)
y = x @ torch.randn(6, 1)
network = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
for _ in range(40):
    optimizer.zero_grad()
    for rows in torch.randperm(256)[:64].chunk(8):
        loss = nn.functional.mse_loss(network(x[rows]), y[rows])
        loss.backward()
    optimizer.step()
