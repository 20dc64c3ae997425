"""No optimizer: parameters are changed under no_grad."""

import torch

torch.manual_seed(0)
w = torch.randn(3, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
for _i in range(6):
    x = torch.randn(5, 3)
    loss = (x @ w + b - 1).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in (w, b):
            p.sub_(0.1 * p.grad)
            p.grad = None
