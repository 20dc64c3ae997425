"""A Function that zeroes the first row of its input through an index, then returns a sum of it."""

import torch


class SumWithoutFirst(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.shape = x.shape
        return x[1:].sum(0)

    @staticmethod
    def backward(ctx, grad):
        spread = grad.expand(ctx.shape).clone()
        spread[0] = 0.0
        return spread


torch.manual_seed(0)
weight = torch.randn(3, 2, requires_grad=True)
hidden = weight * 2
total = SumWithoutFirst.apply(hidden) + (hidden * 3).sum(0)
total.sum().backward()
print(weight.grad.shape)
