"""A hook that rescales the gradient of a sum in place: it is one number, expanded."""

import torch


def rescale(gradient):
    gradient.mul_(0.5)  # expect: GS704


x = torch.linspace(0, 1, 4, requires_grad=True)
y = x * 2
y.register_hook(rescale)
y.sum().backward()
print(x.grad)
