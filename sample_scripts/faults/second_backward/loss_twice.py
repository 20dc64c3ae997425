"""A loss whose backward is called for the weights, and again for the input."""

import torch

torch.manual_seed(0)
weight = torch.randn(3, requires_grad=True)
x = torch.randn(3, requires_grad=True)
loss = (weight * x).square().sum()  # expect: GS711 shared_at
(sensitivity,) = torch.autograd.grad(loss, x)  # expect: GS711
print(sensitivity.shape)
loss.backward()  # expect: GS711 second_backward_at
print(weight.grad.shape)
