"""A Huber loss written with an if, mapped over samples."""

import torch
from torch.func import grad, vmap


def huber(parameters, x, y):
    error = x @ parameters - y
    if error.abs() < 1:  # expect: GS774
        return 0.5 * error**2
    return error.abs() - 0.5


torch.manual_seed(0)
parameters = torch.zeros(3)
for _ in range(2):
    x, y = torch.randn(8, 3), torch.randn(8)
    per_sample = vmap(grad(huber), in_dims=(None, 0, 0))(parameters, x, y)
    parameters = parameters - 0.1 * per_sample.mean(0)
print(parameters)
