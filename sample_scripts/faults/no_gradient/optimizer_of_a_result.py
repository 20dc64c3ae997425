"""The tensor to optimise is converted after it was made a leaf."""

import torch

torch.manual_seed(0)
offset = torch.randn(3, requires_grad=True).to(torch.float64)  # expect: GS725
optimizer = torch.optim.SGD([offset], lr=0.1)  # expect: GS725 fails_at
for _ in range(2):
    optimizer.zero_grad()
    offset.square().sum().backward()
    optimizer.step()
