"""functionalize of a model."""

import torch
from torch.func import functionalize


def model(x):
    return (x * 2).sum()


print(functionalize(model)(torch.ones(3)))
