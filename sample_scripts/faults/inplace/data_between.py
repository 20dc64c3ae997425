"""Weights that decay through .data between the forward and the backward."""

import torch

torch.manual_seed(0)
weight = torch.randn(3, requires_grad=True)
x = torch.randn(3, requires_grad=True)
for _ in range(2):
    loss = (weight * x).sum()  # expect: GS702 saved_at
    weight.data.mul_(0.9)  # expect: GS702
    loss.backward()
print(x.grad.shape)
