"""The gradient with respect to a column that was sliced after the forward."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
points = torch.randn(5, 3, requires_grad=True)
u = model(points)
(gradient,) = torch.autograd.grad(u.sum(), points)
u_t = gradient[:, :1]
print(u_t.shape)
