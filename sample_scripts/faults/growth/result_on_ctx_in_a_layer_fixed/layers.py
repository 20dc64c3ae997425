"""x * sigmoid(x), with a backward of its own."""

import torch
from torch import nn


class SwishFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        s = torch.sigmoid(x)
        y = x * s
        ctx.save_for_backward(x, s, y)
        return y

    @staticmethod
    def backward(ctx, grad):
        _, s, y = ctx.saved_tensors
        return grad * (y + s * (1 - y))


class Swish(nn.Module):
    def forward(self, x):
        return SwishFunction.apply(x)
