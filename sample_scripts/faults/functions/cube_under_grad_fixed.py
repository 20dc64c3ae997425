"""A Function with ctx in its forward, under torch.func.grad."""

import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


print(torch.func.grad(lambda x: Cube.apply(x).sum())(torch.arange(3.0)))
