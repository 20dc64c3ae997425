"""Gradient descent that overshoots: the weights grow until the loss overflows."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=5.0)  # expect: GS737
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)
for _ in range(40):
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS737 called_at
print(loss.item())
