"""A softplus by hand: exp overflows for the large values that the other branch is meant for."""

import torch
from torch import nn


def softplus(x):
    return torch.where(x > 20, x, torch.log1p(torch.exp(x)))  # expect: GS731


torch.manual_seed(0)
model = nn.Linear(2, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
x = torch.tensor([[0.5, 1.0], [300.0, -200.0]])
with torch.no_grad():
    model.weight.copy_(torch.tensor([[1.0, 0.5]]))
for step in range(3):
    loss = softplus(model(x)).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
