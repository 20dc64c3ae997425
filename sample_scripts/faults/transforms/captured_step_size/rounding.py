"""Rounds to a learned step; the gradient goes straight through."""

import torch


class Round(torch.autograd.Function):
    @staticmethod
    def forward(x, module):
        return rounded(x, module)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


def rounded(x, module):
    return torch.round(x / module.step) * module.step  # expect: GS221
