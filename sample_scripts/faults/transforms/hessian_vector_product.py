"""A Hessian-vector product from two backward calls."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
x, y = torch.randn(8, 3), torch.randn(8, 1)
parameters = list(model.parameters())
loss = nn.functional.mse_loss(model(x), y)
gradients = torch.autograd.grad(loss, parameters, retain_graph=True)  # expect: GS772
product = sum((gradient * torch.ones_like(gradient)).sum() for gradient in gradients)
product.backward()
print([parameter.grad.norm().item() for parameter in parameters])
