"""zero_grad stands between backward and step."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    loss = model(torch.randn(4, 3)).square().mean()
    loss.backward()
    optimizer.zero_grad()  # expect: GS728
    optimizer.step()
