"""The running loss is a tensor with a graph: every step's graph stays alive."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0.0
for _ in range(12):
    loss = model(torch.randn(2, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
print(f"{float(total):.4f}")
