"""A Function that doubles in place, with a generated vmap rule, under vmap."""

import torch


class Double(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])  # expect: GS213

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


print(torch.func.vmap(Double.apply)(torch.ones(3, 2)))
