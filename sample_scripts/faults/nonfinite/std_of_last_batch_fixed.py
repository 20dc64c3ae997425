"""Features scaled with the batch's own spread, and a last batch of one row."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def standardize(x):
    mean = x.mean(dim=0)
    std = x.std(dim=0, correction=0)
    return (x - mean) / (std + 1e-6)


torch.manual_seed(0)
data = TensorDataset(torch.randn(9, 3), torch.randn(9, 1))
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in DataLoader(data, batch_size=4):
    loss = nn.functional.mse_loss(model(standardize(x)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(loss.item())
