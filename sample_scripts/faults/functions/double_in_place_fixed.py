"""A Function that doubles in place, with a generated vmap rule, under vmap."""

import torch


class Double(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad

    @staticmethod
    def vmap(info, in_dims, x):
        return Double.apply(x), in_dims[0]


print(torch.func.vmap(Double.apply)(torch.ones(3, 2)))
