"""A hinge whose aim is reached after some steps, in a loss to which a constant is added."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.Adam(model.parameters(), lr=0.5)
for _ in range(70):
    better, worse = torch.rand(32, 6) + 1, -torch.rand(32, 6)
    loss = 0.1 + torch.relu(0.5 - (model(better) - model(worse))).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"loss {loss.item():.3f}")
