"""A gradient penalty through a Function whose backward may be differentiated once only."""

import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    @once_differentiable  # expect: GS776
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return 2 * x * gradient


x = torch.randn(4, requires_grad=True)
y = Square.apply(x).sum()
(gradient,) = torch.autograd.grad(y, x, create_graph=True)
penalty = (gradient.norm() - 1) ** 2
penalty.backward()
print(x.grad)
