"""Fits a line by gradient descent; the settings are in a file of their own."""
# as in https://github.com/gurkirt/FPN.pytorch1.0/issues/7

import torch
from settings import Settings
from torch import nn

settings = Settings()
torch.manual_seed(0)
model = nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=settings.rate, momentum=settings.momentum)
x = torch.randn(64, 6)
y = x.sum(1, keepdim=True)
for _ in range(settings.steps):
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS737 called_at
print(f"loss {loss.item():.3f}")
