"""A hook that logs the largest gradient and, by one underscore, changes the gradient."""

import torch
from torch import nn

largest = []


def log(gradient):
    largest.append(gradient.abs_().max().item())  # expect: GS756


torch.manual_seed(0)
layer = nn.Linear(3, 2)
layer.weight.register_hook(log)  # expect: GS756 registered_at
layer(torch.randn(4, 3)).square().sum().backward()
print(len(largest))
