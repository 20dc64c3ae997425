"""A custom Function that marks its input dirty, under vmap."""

import torch
from torch.func import vmap


class AddOne(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.add_(1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])  # expect: GS213

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def model(sample):
    return AddOne.apply(sample.clone()).sum()  # expect: GS213 fails_at


print(vmap(model)(torch.zeros(4, 3)))
