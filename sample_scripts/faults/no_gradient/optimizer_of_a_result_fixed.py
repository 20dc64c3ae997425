"""The tensor to optimise is converted after it was made a leaf."""

import torch

torch.manual_seed(0)
offset = torch.randn(3, dtype=torch.float64, requires_grad=True)
optimizer = torch.optim.SGD([offset], lr=0.1)
for _ in range(2):
    optimizer.zero_grad()
    offset.square().sum().backward()
    optimizer.step()
