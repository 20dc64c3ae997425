"""Two right Functions that the faulty ones derive from: they override the one method that is wrong."""

import torch
from torch.autograd import Function


def one(*shape):
    """One float tensor away from zero."""
    return lambda: (torch.rand(*(shape or (3, 4)), generator=torch.Generator().manual_seed(3)) + 0.5,)


def two(*shape):
    """Two of them."""
    return lambda: (*one(*shape)(), one(*shape)()[0] * 1.3 + 0.2)


def fixed(*shape):
    """Normal values that are the same every time."""
    return torch.randn(*shape, generator=torch.Generator().manual_seed(5))


class Square(Function):
    # clean: GS422 GS102 GS103 GS104 GS105 GS110 GS111 GS112 GS119 GS301 GS320 GS321 GS322 GS325 GS402
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent


class Product(Function):
    # clean: GS106 GS107 GS108 GS109 GS201 GS219 GS220 GS323 GS225 GS420
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(two())

    @staticmethod
    def forward(x, y):
        return x * y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y if ctx.needs_input_grad[0] else None, grad * x if ctx.needs_input_grad[1] else None

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y = ctx.saved_tensors
        first = 0 * x if x_tangent is None else x_tangent * y
        return first if y_tangent is None else first + x * y_tangent


class Pair(Function):
    # clean: GS114 GS115 GS120 GS206
    """Two outputs."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x, 3 * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, first, second):
        (x,) = ctx.saved_tensors
        return 2 * x * first + 3 * second

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * x * tangent, 3 * tangent
