import torch
from torch.autograd import Function

from tests.functions.corpus.base import Pair, Product, Square, one, two

WEIGHT = torch.tensor(1.5, requires_grad=True)


class UnmarkedInplace(Square):
    @staticmethod
    def forward(x):
        return x.mul_(x)  # expect: GS210


class UnmarkedThroughNumpy(Square):
    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        x.detach().numpy()[...] *= 2  # expect: GS210
        return x * x


class DirtyNotInput(Square):
    generate_vmap_rule = False

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(output)  # expect: GS211
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)


class DirtyNotReturned(Square):
    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])  # expect: GS212
        ctx.save_for_backward(*inputs)


class Doubled(Function):
    # clean: GS210 GS211 GS212 GS213
    """In place, and right: written by hand."""

    gradscope_inputs = staticmethod(one())

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
        return Doubled.apply(x), in_dims[0]


class DoubledGenerated(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])  # expect: GS213

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class InputAsIs(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)  # expect: GS214

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x.isfinite()


class ViewOutput(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):  # expect: GS215
        return x[1:]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return torch.cat([torch.zeros_like(grad[:1]), grad])


class DroppedOutput(Pair):
    @staticmethod
    def backward(ctx, grad, _):  # expect: GS216
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class WrongOutputMarked(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x, x.argmax(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[0])  # expect: GS217
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad, _):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class NoneUnexpected(Pair):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        return 2 * x * first + 3 * second  # expect: GS218


class NeedlessGradient(Product):
    @staticmethod
    def backward(ctx, grad):  # expect: GS219
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class WrongIndex(Product):
    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        first = grad * y if ctx.needs_input_grad[1] else None  # expect: GS220
        return first, grad * x if ctx.needs_input_grad[0] else None


class CapturedTensor(Square):
    @staticmethod
    def forward(x):
        return WEIGHT * x  # expect: GS221

    @staticmethod
    def backward(ctx, grad):
        return WEIGHT.detach() * grad + 0 * ctx.saved_tensors[0]

    @staticmethod
    def jvp(ctx, tangent):
        return WEIGHT.detach() * tangent


class CleanHandlesNone(Pair):
    # clean: GS218
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        total = torch.zeros_like(x)
        if first is not None:
            total = total + 2 * x * first
        return total if second is None else total + 3 * second


class CleanMixedMaterialization(Product):
    gradscope_inputs = staticmethod(two(2, 3))
