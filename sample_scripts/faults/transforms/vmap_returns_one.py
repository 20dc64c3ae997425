"""A custom Function whose vmap rule returns the output only."""

import torch
from torch.func import vmap


class Softplus(torch.autograd.Function):
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
    def vmap(info, in_dims, x):  # expect: GS303
        return Softplus.apply(x)


def model(sample):
    return Softplus.apply(sample).sum()  # expect: GS303 fails_at


print(vmap(model)(torch.linspace(-1, 1, 12).view(4, 3)))
