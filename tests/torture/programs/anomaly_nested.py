"""A NaN in a double backward, with detect_anomaly around all of it and around the last backward only."""

import warnings

import torch
from torch.autograd import Function, detect_anomaly


class Outer(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.sum(0, keepdim=True)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone().expand(4)
        return Inner.apply(g * x, g + x)


class Inner(Function):
    @staticmethod
    def forward(ctx, a, b):
        return a * 2.0 + b

    @staticmethod
    def backward(ctx, g):
        bad = g.clone()
        bad[0] = 0
        bad[0] /= 0
        return bad, g


for whole in (False, True):
    x = torch.rand(4, requires_grad=True)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            if whole:
                with detect_anomaly():
                    (g,) = torch.autograd.grad(Outer.apply(x), x, create_graph=True)
                    g.sum().backward()
            else:
                (g,) = torch.autograd.grad(Outer.apply(x), x, create_graph=True)
                with detect_anomaly():
                    g.sum().backward()
        except RuntimeError as error:
            print(error)
    for one in seen:
        lines = [line for line in str(one.message).splitlines() if line]
        print("  ", lines[0], str(one.message).count(__file__))
