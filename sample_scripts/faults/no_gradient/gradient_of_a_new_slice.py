"""The gradient with respect to a column that was sliced after the forward."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
points = torch.randn(5, 3, requires_grad=True)
u = model(points)
time = points[:, :1]  # expect: GS729
(u_t,) = torch.autograd.grad(u.sum(), time)  # expect: GS729 fails_at
print(u_t.shape)
