"""Rounding with a gradient that passes straight through."""

import torch
from torch import nn


class StraightRound(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, digits):
        return torch.round(x, decimals=digits)

    @staticmethod
    def backward(ctx, grad):
        scaled = grad * 1.0
        return scaled, None


class RoundingLayer(nn.Module):
    def forward(self, x):
        return StraightRound.apply(x, 2)
