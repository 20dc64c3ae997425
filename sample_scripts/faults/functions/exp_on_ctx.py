"""A gradient penalty through a Function that keeps its exponential on ctx."""

import torch


class Exp(torch.autograd.Function):  # expect: GS763 class_at
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.y = y  # expect: GS763
        return y * 1.0

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.y


x = torch.linspace(-1, 1, 4, requires_grad=True)
loss = Exp.apply(x).sum()
(slope,) = torch.autograd.grad(loss, x, create_graph=True)  # expect: GS763 fails_at
(loss + slope.square().sum()).backward()
print(x.grad)
