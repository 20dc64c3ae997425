"""A scaled exponential whose backward forgets the scale."""

import torch


class ScaledExp(torch.autograd.Function):  # expect: GS761 class_at
    @staticmethod
    def forward(ctx, x, scale):
        out = (x * scale).exp()
        ctx.save_for_backward(out)
        ctx.scale = scale
        return out

    @staticmethod
    def backward(ctx, grad):
        (out,) = ctx.saved_tensors
        return grad * out * ctx.scale  # expect: GS761


x = torch.linspace(-1, 1, 4, requires_grad=True)
ScaledExp.apply(x, 0.5).sum().backward()  # expect: GS761 fails_at
print(x.grad)
