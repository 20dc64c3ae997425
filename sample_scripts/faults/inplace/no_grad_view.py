"""A window into a result, taken under no_grad and then edited with autograd on."""

import torch

torch.manual_seed(0)
x = torch.randn(4, 4, requires_grad=True)
canvas = x * 2
with torch.no_grad():
    window = canvas[1:3]
window += 1  # expect: GS705
canvas.sum().backward()
print(x.grad.shape)
