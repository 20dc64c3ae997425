"""A bias that is expanded over the batch, then shifted in place."""

import torch

torch.manual_seed(0)
bias = torch.zeros(4).expand(3, 4)  # expect: GS704 born_at
bias += torch.randn(3, 4)  # expect: GS704
weight = torch.randn(4, requires_grad=True)
(weight * bias).sum().backward()
print(weight.grad.shape)
