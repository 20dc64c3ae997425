"""A Function that rounds and passes the gradient straight through, and two that clamp and do not."""

import torch
from torch import nn


class Rounds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step):
        return (x / step).round() * step

    @staticmethod
    def backward(ctx, gradient):
        return gradient, None


class Cuts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        gradient = gradient.masked_fill(x.abs() > 1, 0.0)
        return gradient


class Bounds(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.inside = x.abs() <= 1
        return x.clamp(-1, 1)

    @staticmethod
    def backward(ctx, gradient):
        gradient *= ctx.inside
        return gradient


torch.manual_seed(0)
layer = nn.Linear(4, 2)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(
        Bounds.apply(Cuts.apply(Rounds.apply(2 * layer(x), 0.1)).mul(1)), (x[:, 0] > 0).long()
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
