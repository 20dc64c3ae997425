"""The gradients of a hidden value and of what it comes from, asked for together, with a hook on the hidden value."""

import torch

x = torch.ones(2, requires_grad=True)
hidden = x * 3  # expect: GS755 born_at
hidden.register_hook(lambda gradient: gradient * 10)  # expect: GS755 registered_at
loss = hidden.square().sum()
of_x, of_hidden = torch.autograd.grad(loss, [x, hidden])  # expect: GS755
print(of_x, of_hidden)
