"""Weights updated by hand, with the sum over the batch where the mean was meant."""

import torch

torch.manual_seed(0)
w = torch.randn(5, requires_grad=True)
x, y = torch.randn(64, 5), torch.randn(64)
for _ in range(60):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad.zero_()
print(loss.item())
