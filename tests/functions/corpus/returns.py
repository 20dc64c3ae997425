from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd import Function

from tests.functions.corpus.base import Pair, Product, Square, one


class BackwardArity(Pair):
    @staticmethod
    def backward(ctx, first):  # expect: GS108
        return first


class GradCount(Product):
    @staticmethod
    def backward(ctx, grad):  # expect: GS109
        return grad * ctx.saved_tensors[1]


class GradList(Product):
    @staticmethod
    def backward(ctx, grad):  # expect: GS109
        x, y = ctx.saved_tensors
        return [grad * y, grad * x]


class SwappedSetup(Square):
    @staticmethod
    def setup_context(ctx, output, inputs):  # expect: GS112
        ctx.save_for_backward(inputs)
        ctx.save_for_forward(inputs)


class GradForNumber(Square):
    gradscope_inputs = staticmethod(lambda: (*one()(), 2.0))

    @staticmethod
    def forward(x, scale):
        return scale * x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_forward(inputs[0])
        ctx.scale = inputs[1]

    @staticmethod
    def backward(ctx, grad):  # expect: GS113
        (x,) = ctx.saved_tensors
        return 2 * ctx.scale * x * grad, torch.zeros(())

    @staticmethod
    def jvp(ctx, tangent, _):
        (x,) = ctx.saved_tensors
        return 2 * ctx.scale * x * tangent


class ListOutput(Pair):
    @staticmethod
    def forward(x):
        return [x * x, 3 * x]  # expect: GS114


class DictOutput(Square):
    @staticmethod
    def forward(x):
        return {"square": x * x}  # expect: GS114


class TensorsInList(Square):
    gradscope_inputs = staticmethod(lambda: ([t.requires_grad_() for t in (*one()(), *one()())],))

    @staticmethod
    def forward(tensors):  # expect: GS115
        return tensors[0] * tensors[1]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[0])


class Both(NamedTuple):
    square: Tensor
    triple: Tensor


class NamedOutput(Pair):
    @staticmethod
    def forward(x):  # expect: GS117
        return Both(x * x, 3 * x)


class ReturnsFloat(Square):
    @staticmethod
    def backward(ctx, grad):  # expect: GS120
        return 2.0


class InferenceSaved(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):  # expect: GS121
        with torch.inference_mode():
            helper = 2 * x.detach()
        return x * x, helper

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        (double,) = ctx.saved_tensors
        return double * grad


class MethodRaises(Square):
    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.x * grad  # expect: GS123


class OneTupleUnpacked(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        (result,) = output  # expect: GS124
        ctx.save_for_backward(*inputs)
        ctx.rows = len(result)


class OneTupleSaved(Square):
    @staticmethod
    def forward(x):
        return (x.exp(),)

    @staticmethod
    def setup_context(ctx, inputs, output):  # expect: GS124
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        return result * grad


class CleanSurplusNone(Square):
    # clean: GS109 GS123
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad, None, None


class CleanOneTuple(Square):
    # clean: GS124 GS117
    @staticmethod
    def forward(x):
        return (x * x,)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return (2 * x * tangent,)
