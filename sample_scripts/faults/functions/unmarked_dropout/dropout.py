"""Dropout that saves memory by working in place."""

import torch
from torch import nn


class DropoutFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, rate):
        ctx.mask = (torch.rand_like(x) > rate) / (1 - rate)
        x *= ctx.mask  # expect: GS762
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.mask, None


class Dropout(nn.Module):
    def __init__(self, rate):
        super().__init__()
        self.rate = rate

    def forward(self, x):
        return DropoutFunction.apply(x, self.rate)
