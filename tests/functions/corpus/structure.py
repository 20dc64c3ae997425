import torch
from torch.autograd import Function

from tests.functions.corpus.base import Product, Square, one


class MissingForward(Function):  # expect: GS102
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def backward(ctx, grad):
        return grad


class Legacy(Function):
    gradscope_inputs = staticmethod(one())

    def forward(self, x):  # expect: GS103 GS110
        self.save_for_backward(x)
        return x * x

    def backward(self, grad):
        (x,) = self.saved_tensors
        return 2 * x * grad


class ClassMethod(Square):
    @classmethod
    def forward(cls, x):  # expect: GS104
        return x * x


class NoBackward(Function):  # expect: GS105 GS119
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backwards(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class BackwardAndVjp(Square):
    @staticmethod
    def vjp(ctx, grad):  # expect: GS106
        return 2 * ctx.saved_tensors[0] * grad


class VjpOnly(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def vjp(ctx, grad):  # expect: GS107
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class CombinedForward(Function):
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(ctx, x):  # expect: GS110
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


class ContextTwice(Square):
    @staticmethod
    def forward(ctx, x):  # expect: GS111
        return x * x


class KeywordOnly(Square):
    @staticmethod
    def forward(x, *, power):  # expect: GS116
        return x**power


class DirectCall(Square):
    pass


def uses_forward(x):
    return DirectCall.forward(x)  # expect: GS118 @DirectCall


class UnknownMember(Square):  # expect: GS119
    @staticmethod
    def setup_ctx(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class Boxed(Square):  # expect: GS122
    boxed_grads_call = True

    @staticmethod
    def backward(ctx, grads):
        (x,) = ctx.saved_tensors
        return 2 * x * (grads[0] if isinstance(grads, list) else grads)


class CleanDelegating(Product):
    # clean: GS118 GS116
    @staticmethod
    def forward(x, y):
        return Product.forward(x, y)


class CleanNoGradient(Function):
    # clean: GS105
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return torch.argsort(x, -1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output)
