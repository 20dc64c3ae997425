"""Newton's method: the second derivative needs the graph of the first."""

import torch

x = torch.tensor(2.0, requires_grad=True)
for step in range(3):
    y = x**4 - 3 * x**2
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    x = (x - first / second).detach().requires_grad_()
    print(step, x.item())
