"""A custom Function without a jvp, under hessian."""

import torch
from torch.func import hessian


class Double(torch.autograd.Function):  # expect: GS320
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


def field(point):
    return Double.apply(point).square().sum()  # expect: GS320 fails_at


print(hessian(field)(torch.ones(3)))
