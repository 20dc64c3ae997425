"""A custom Function without a jvp, under hessian."""

import torch
from torch.func import hessian


class Double(torch.autograd.Function):
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

    @staticmethod
    def jvp(ctx, tangent):
        return tangent * 2


def field(point):
    return Double.apply(point).square().sum()


print(hessian(field)(torch.ones(3)))
