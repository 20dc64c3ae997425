"""The Jacobian of a reaction's rates with respect to its constants, which a custom Function finds on its class."""

import torch
from torch.func import jacrev


class Decay(torch.autograd.Function):
    rates = None

    @staticmethod
    def forward(amount, time):
        return amount * torch.exp(-Decay.rates * time)  # expect: GS221

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], inputs[1], output)

    @staticmethod
    def backward(ctx, gradient):
        amount, _, left = ctx.saved_tensors
        return gradient * left / amount, -gradient * Decay.rates * left


def simulate(rates, amount):
    Decay.rates = rates
    return Decay.apply(amount, torch.tensor(0.5)) + rates


print(jacrev(simulate)(torch.tensor([0.3, 1.2]), torch.tensor([1.0, 2.0])))  # expect: GS221 cause_at
