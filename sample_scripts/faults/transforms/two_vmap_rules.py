"""A custom Function with two vmap rules, under vmap."""

import torch
from torch.func import vmap


class Softplus(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.log1p(torch.exp(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * torch.sigmoid(x)

    @staticmethod
    def vmap(info, in_dims, x):  # expect: GS302
        return Softplus.apply(x), in_dims[0]


def model(sample):
    return Softplus.apply(sample).sum()  # expect: GS302 fails_at


print(vmap(model)(torch.linspace(-1, 1, 12).view(4, 3)))
