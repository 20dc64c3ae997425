"""A hook that logs the largest gradient and, by one underscore, changes the gradient."""

import torch
from torch import nn

largest = []


def log(gradient):
    largest.append(gradient.abs().max().item())


torch.manual_seed(0)
layer = nn.Linear(3, 2)
layer.weight.register_hook(log)
layer(torch.randn(4, 3)).square().sum().backward()
print(len(largest))
