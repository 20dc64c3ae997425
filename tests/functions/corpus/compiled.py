import torch
from torch.autograd import Function

from tests.functions.corpus.base import Square, one


class Plain(Function):
    # clean: GS601 GS602 GS604 GS605
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class JvpStops(Square):
    @staticmethod
    def jvp(ctx, tangent):  # expect: GS601
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


class Unsupported(Plain):
    generate_vmap_rule = False

    @staticmethod
    def forward(x):  # expect: GS602
        return x * x if x.sum() > 0 else x.square()


class DefaultsOmitted(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x, factor=2.0):  # expect: GS603
        return factor * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return ctx.factor * grad, None


class DefaultsPassed(DefaultsOmitted):
    # clean: GS603
    gradscope_inputs = staticmethod(lambda: (*one()(), 3.0))

    @staticmethod
    def forward(x, factor=2.0):
        return factor * x


class StraightThrough(Function):
    generate_vmap_rule = True
    custom_gradient = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.round()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):  # expect: GS604
        return grad * 1


class NumpyForward(Plain):
    generate_vmap_rule = False

    @staticmethod
    def forward(x):
        return torch.from_numpy(x.detach().numpy() ** 2)  # expect: GS605
