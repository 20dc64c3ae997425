"""A regression on a table that numpy made."""
# as in https://stackoverflow.com/questions/67456368/pytorch-getting-runtimeerror-found-dtype-double-but-expected-float

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
table = np.random.default_rng(0).normal(size=(64, 5))
prices = table.sum(1, keepdims=True)
loader = DataLoader(TensorDataset(torch.from_numpy(table), torch.from_numpy(prices)), batch_size=16)
model = nn.Sequential(nn.Linear(5, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(3):
    for rows, price in loader:
        loss = nn.functional.mse_loss(model(rows.float()), price.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"loss {loss.item():.3f}")
