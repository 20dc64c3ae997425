"""A hidden layer whose values are masked under no_grad: the mask is in the values, not in the graph."""

import torch
from torch import nn

torch.manual_seed(0)
first, second = nn.Linear(4, 6), nn.Linear(6, 1)
mask = (torch.rand(6) > 0.5).float()
hidden = first(torch.randn(5, 4))
with torch.no_grad():
    hidden.mul_(mask)  # expect: GS702
loss = second(hidden).square().mean()
loss.backward()
print(first.weight.grad.shape)
