"""An input that is marked as dirty, edited, and not returned."""

import torch


class ScaleInPlace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        x.mul_(2)
        return x

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


x = torch.ones(3, requires_grad=True)
ScaleInPlace.apply(x * 1).sum().backward()
print(x.grad)
