"""Functions that draw random numbers, and the same without."""

import torch
from torch.autograd import Function

from tests.functions.corpus.base import one


class Generated(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        noise = torch.rand_like(x)
        return x * noise, noise

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]


class ByHand(Generated):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        return ByHand.apply(x.movedim(in_dims[0], 0)), (0, 0)


class Refusing(Generated):
    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        if info.randomness == "error":
            raise RuntimeError("vmap: called random operation while in randomness error mode")
        return Refusing.apply(x.movedim(in_dims[0], 0)), (0, 0)


class Moody(Function):
    """Deterministic, but its vmap rule doubles the values where others would draw."""

    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return 3 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return 3 * grad

    @staticmethod
    def vmap(info, in_dims, x):
        return Moody.apply(x * (2 if info.randomness == "different" else 1)), in_dims[0]
