"""A custom Function that marks its input dirty, under vmap."""

import torch
from torch.func import vmap


class AddOne(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.add_(1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, gradient):
        return gradient

    @staticmethod
    def vmap(info, in_dims, x):
        return AddOne.apply(x), in_dims[0]


def model(sample):
    return AddOne.apply(sample.clone()).sum()


print(vmap(model)(torch.zeros(4, 3)))
