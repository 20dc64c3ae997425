"""Swish with a backward that recomputes."""

import torch


class Swish(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):  # expect: GS110
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * (gate + x * gate * (1 - gate))


swish = Swish.apply
