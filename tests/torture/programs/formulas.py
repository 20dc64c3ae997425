"""Formulas that torch has twice: one for plain tensors, one for tensors whose values it cannot read."""

import torch

torch.manual_seed(0)
weight = (1 + torch.rand(16, 16) / 100).requires_grad_()
fill = torch.tensor(0.5, requires_grad=True)
mask = torch.arange(16) % 3 == 0
for step in range(8):
    weight.grad = fill.grad = None
    loss = weight.prod() + weight.prod(0).sum() + (weight.masked_fill(mask, fill) * torch.rand(16, 16)).sum()
    loss = loss + weight.max() + weight.min(1).values.sum() + weight.cumprod(0).mean() + weight.median()
    loss.backward()
    with torch.no_grad():
        weight -= 0.01 * weight.grad
        fill -= 0.01 * fill.grad
    print(step, loss.item().hex(), weight.grad.sum().item().hex(), fill.grad.item().hex())
