"""A scratch tensor reused with out= while a product still needs what it held."""

import torch

torch.manual_seed(0)
weight = torch.randn(4, 4, requires_grad=True)
scratch = torch.randn(4, 4)
loss = 0.0
for _ in range(3):
    loss = loss + (weight * scratch).sum()
    scratch = torch.randn(4, 4)
loss.backward()
print(weight.grad.sum())
