"""The Hessian of a network with LeakyReLU, asked for in a loop over its inputs."""

import torch
from torch import nn

torch.manual_seed(0)
network = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(), nn.Linear(8, 1))  # expect: GS773
x = torch.randn(2, requires_grad=True)
value = network(x)  # expect: GS773 called_at
(gradient,) = torch.autograd.grad(value, x, create_graph=True)
rows = [torch.autograd.grad(one, x, retain_graph=True)[0] for one in gradient]
print(torch.stack(rows))
