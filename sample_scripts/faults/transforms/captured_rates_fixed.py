"""The Jacobian of a reaction's rates with respect to its constants, which a custom Function gets as an argument."""

import torch
from torch.func import jacrev


class Decay(torch.autograd.Function):
    @staticmethod
    def forward(rates, amount, time):
        return amount * torch.exp(-rates * time)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs, output)

    @staticmethod
    def backward(ctx, gradient):
        rates, amount, time, left = ctx.saved_tensors
        return -gradient * time * left, gradient * left / amount, (-gradient * rates * left).sum()


def simulate(rates, amount):
    return Decay.apply(rates, amount, torch.tensor(0.5)) + rates


print(jacrev(simulate)(torch.tensor([0.3, 1.2]), torch.tensor([1.0, 2.0])))
