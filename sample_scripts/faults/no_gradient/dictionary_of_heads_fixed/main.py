"""Heads for two tasks, kept in a dict."""

import torch
from model import MultiTask
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(8, 4), torch.randn(8, 1), torch.randn(8, 1))
model = MultiTask()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(2):
    for x, a, b in DataLoader(data, batch_size=4):
        out = model(x)
        loss = (out["a"] - a).pow(2).mean() + (out["b"] - b).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
