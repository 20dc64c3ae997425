"""A layer with its own Function, trained in a loop."""

import torch
from layers import Swish
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(20, 4), torch.randn(20, 1))
model = nn.Sequential(nn.Linear(4, 6), Swish(), nn.Linear(6, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(2):
    for x, y in DataLoader(data, batch_size=4):
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
