"""A custom Function without a vmap rule, under vmap."""

import torch
from torch.func import vmap


class Clip(torch.autograd.Function):  # expect: GS301
    @staticmethod
    def forward(x):
        return x.clamp(-1, 1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x.abs() <= 1)


def model(sample):
    return Clip.apply(sample * 2).sum()  # expect: GS301 fails_at


print(vmap(model)(torch.linspace(-1, 1, 12).view(4, 3)))
