"""A custom Function whose forward takes ctx, under grad."""

import torch
from torch.func import grad


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # expect: GS110
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * 3 * x * x


def energy(x):
    return Cube.apply(x).sum()  # expect: GS110 fails_at


print(energy(torch.ones(3)))
print(grad(energy)(torch.ones(3)))
