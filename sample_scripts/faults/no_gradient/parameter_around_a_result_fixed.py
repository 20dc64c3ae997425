"""A weight that a hypernetwork makes, used as it is."""

import torch
from torch import nn

torch.manual_seed(0)
hyper = nn.Linear(3, 8)
optimizer = torch.optim.SGD(hyper.parameters(), lr=0.1)
code, inputs, targets = torch.randn(3), torch.randn(16, 8), torch.randn(16)
for step in range(5):
    weight = hyper(code)
    loss = (inputs @ weight - targets).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
