"""A loss whose backward is called for the weights, and again for the input."""

import torch

torch.manual_seed(0)
weight = torch.randn(3, requires_grad=True)
x = torch.randn(3, requires_grad=True)
loss = (weight * x).square().sum()
(sensitivity,) = torch.autograd.grad(loss, x, retain_graph=True)
print(sensitivity.shape)
loss.backward()
print(weight.grad.shape)
