"""Functions that save what they multiply by, or something else, and whose backward does not read it: all are meant."""

import torch
from torch import nn
from torch.autograd import Function


class Rescale(Function):
    """Hands its input on; its gradient is divided by a count, and the input was saved for nothing."""

    @staticmethod
    def forward(ctx, x, times):
        ctx.save_for_backward(x)
        ctx.times = times
        return x * 1.0

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient / ctx.times, None


class Thinned(Function):
    """Weights of which half are shown: what is hidden gets a gradient, too, so that it may come back."""

    @staticmethod
    def forward(ctx, weight, shown):
        ctx.save_for_backward(shown)
        return weight * shown

    @staticmethod
    def backward(ctx, gradient):
        (shown,) = ctx.saved_tensors
        return gradient, None  # straight to all weights


class Gain(Function):
    """The gain is read off what came out: `out / x` would be the same factor."""

    @staticmethod
    def forward(ctx, x, gain):
        out = x * gain
        ctx.save_for_backward(x, gain, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, gain, out = ctx.saved_tensors
        return gradient * out / x, None


class Shift(Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(weight, bias)
        return x * weight + bias

    @staticmethod
    def backward(ctx, gradient):
        weight, bias = ctx.saved_tensors
        return gradient * weight, None, gradient.sum(0)


def main():
    torch.manual_seed(0)
    layer, bias = nn.Linear(4, 4), nn.Parameter(torch.zeros(4))
    shown = (torch.rand(4, 4) > 0.5).float()
    optimizer = torch.optim.SGD([*layer.parameters(), bias], lr=0.05)
    for _ in range(6):
        x = torch.rand(8, 4)
        h = nn.functional.linear(x, Thinned.apply(layer.weight, shown), layer.bias)
        h = Shift.apply(Gain.apply(Rescale.apply(h, 2), torch.full((4,), 1.5)), torch.full((4,), 0.5), bias)
        loss = nn.functional.mse_loss(h, x.flip(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(loss.item())


main()
