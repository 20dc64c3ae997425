"""The Hessian of a loss with a clipped identity in it."""

import torch
from torch.autograd.function import once_differentiable


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return scale * x**3

    @staticmethod
    @once_differentiable  # expect: GS776
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 3 * ctx.scale * x**2 * gradient, None


def loss(x):
    return Cube.apply(x, 2.0).sum()


x = torch.tensor([1.0, 2.0])
print(torch.autograd.functional.hessian(loss, x))
