"""functionalize of a model."""

import torch
from torch.func import functionalize


class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x * 2

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def model(x):
    return Scale.apply(x).sum()


print(functionalize(model)(torch.ones(3)))  # expect: GS330
