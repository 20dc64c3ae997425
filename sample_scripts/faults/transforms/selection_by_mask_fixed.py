"""A boolean index gives each sample a result of another size."""

import torch
from torch.func import vmap


def mean_of_positive(row):
    positive = row > 0
    return (row * positive).sum() / positive.sum()


torch.manual_seed(0)
rows = torch.randn(4, 6, requires_grad=True)
vmap(mean_of_positive)(rows).sum().backward()
print(rows.grad.shape)
