"""The gradients of a hidden value and of what it comes from, asked for together, with a hook on the hidden value."""

import torch

x = torch.ones(2, requires_grad=True)
hidden = x * 3
hidden.register_hook(lambda gradient: gradient * 10)
loss = hidden.square().sum()
(of_hidden,) = torch.autograd.grad(loss, [hidden], retain_graph=True)
(of_x,) = torch.autograd.grad(loss, [x])
print(of_x, of_hidden)
