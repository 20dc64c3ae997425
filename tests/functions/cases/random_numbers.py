"""Functions that draw random numbers, and the same without."""

import numpy
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


class Shifted(Generated):
    """Its vmap rule adds one to the values."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        value, noise = Shifted.apply(x.movedim(in_dims[0], 0))
        return (value + 1, noise), (0, 0)


class Transposed(Generated):
    """Its vmap rule takes the batch to be in front."""

    generate_vmap_rule = False
    gradscope_inputs = staticmethod(one(3, 3))

    @staticmethod
    def vmap(info, in_dims, x):
        return Transposed.apply(x), (0, 0)


class Unscaled(Generated):
    """Its vmap rule goes around apply, so that the gradient is another one."""

    generate_vmap_rule = False

    @staticmethod
    def vmap(info, in_dims, x):
        noise = torch.rand_like(x)
        return (x.detach() * noise, noise), (in_dims[0], in_dims[0])


class Shuffled(Function):
    """Permutes columns; the rule by hand draws one permutation for the whole batch."""

    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        order = torch.randperm(x.shape[-1])
        return x[..., order], order

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad[..., ctx.saved_tensors[0].argsort()]

    @staticmethod
    def vmap(info, in_dims, x):
        value, order = Shuffled.apply(x.movedim(in_dims[0], 0))
        return (value, order.expand(info.batch_size, -1)), (0, 0)


class Dropped(Function):
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        mask = torch.nn.functional.dropout(torch.ones_like(x), 0.4)
        return x * mask, mask

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info, in_dims, x):
        return Dropped.apply(x.movedim(in_dims[0], 0)), (0, 0)


class Picked(Function):
    """Multiplies with a random whole number."""

    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        factor = torch.randint(1, 5, x.shape) + torch.bernoulli(torch.full_like(x, 0.5))
        return x * factor, factor

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]

    @staticmethod
    def vmap(info, in_dims, x):
        return Picked.apply(x.movedim(in_dims[0], 0)), (0, 0)


class FromNumpy(Generated):
    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        noise = torch.from_numpy(numpy.random.rand(*x.shape)).to(x.dtype)
        return x * noise, noise

    @staticmethod
    def vmap(info, in_dims, x):
        return FromNumpy.apply(x.movedim(in_dims[0], 0)), (0, 0)


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
