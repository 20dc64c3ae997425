"""A bias that is expanded over the batch, then shifted in place."""

import torch

torch.manual_seed(0)
bias = torch.zeros(4).expand(3, 4).clone()
bias += torch.randn(3, 4)
weight = torch.randn(4, requires_grad=True)
(weight * bias).sum().backward()
print(weight.grad.shape)
