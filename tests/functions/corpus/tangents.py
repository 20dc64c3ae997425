import torch
from torch.autograd import Function

from tests.functions.corpus.base import Product, Square, one


class NoJvp(Function):  # expect: GS320 GS330
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


class WrongJvp(Square):
    @staticmethod
    def jvp(ctx, tangent):  # expect: GS321
        (x,) = ctx.saved_tensors
        return x * tangent


class NothingSavedForForward(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors  # expect: GS322
        return 2 * x * tangent


class NoneTangent(Product):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(*inputs)
        ctx.save_for_forward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return (None, None) if grad is None else Product.backward(ctx, grad)

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        x, y = ctx.saved_tensors
        return x_tangent * y + x * y_tangent  # expect: GS323


class ViewTangent(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):  # expect: GS215
        return x[0]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):
        return torch.cat([grad.unsqueeze(0), grad.new_zeros(ctx.shape[0] - 1, *ctx.shape[1:])])

    @staticmethod
    def jvp(ctx, tangent):  # expect: GS324
        return tangent[0].clone()


class TangentArity(Product):
    @staticmethod
    def jvp(ctx, x_tangent):  # expect: GS325
        return x_tangent * ctx.saved_tensors[1]


class CleanTangent(Square):
    # clean: GS321 GS324
    @staticmethod
    def forward(x):
        return torch.square(x)
