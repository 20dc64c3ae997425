"""A hook that halves a gradient, on a tensor one row of which is set afterwards."""

import torch

x = torch.ones(3, 2, requires_grad=True)
h = x * 2  # expect: GS751 born_at
h.register_hook(lambda gradient: gradient / 2)  # expect: GS751
h[0] = 0.0
h.sum().backward()
print(x.grad)
