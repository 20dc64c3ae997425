"""A Function in the new style whose setup_context was forgotten."""

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.arange(3.0, requires_grad=True)
Square.apply(x).sum().backward()
print(x.grad)
