"""A Function in the new style whose setup_context was forgotten."""

import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(x):  # expect: GS764
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


x = torch.arange(3.0, requires_grad=True)
Square.apply(x).sum().backward()  # expect: GS764 fails_at
print(x.grad)
