"""Functions to compile. What a test says of a line, it finds by the comment on it."""

from pathlib import Path

import torch
from torch import nn


class Exp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        result = x.exp()
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx, gradient):
        (result,) = ctx.saved_tensors
        return gradient * result  # backward of Exp


def used_twice(x, w):
    h = x @ w  # h is made
    y = h.sin()  # first use
    return (y * h).sum()  # second use


def used_in_a_sum(x):
    h = x.cos()
    return (Exp.apply(h) + h).sum()  # a sum passes its gradient on


def kept_and_used(q, k):
    weights = (q * k).softmax(-1)  # q is used
    return weights.tanh() + q  # and added


def writes(x, b):
    y = x.sin()
    b.mul_(2)  # b is written
    return (y * b).sum(), b[:2]


def four(a, b, c, d):
    return (a * b + c * d).sum()


def one_twice():
    a, b, d = torch.randn(3, 4).unbind()
    return (a, b, a, d.clone().requires_grad_())


def branches(x):
    y = x.sin()
    if y.sum() > 0:  # depends on data
        return y * 2
    return y.cos()


def wrong_shape(x):
    return x.view(7)  # cannot be


def without_gradient(x):
    return (x > 0).sum()


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 3)

    def forward(self, x):
        return Exp.apply(self.linear(x)).sum()


def line(words):
    """The number of the line with this comment."""
    lines = Path(__file__).read_text(encoding="utf-8").splitlines()
    return next(number for number, text in enumerate(lines, 1) if text.endswith(f"# {words}"))
