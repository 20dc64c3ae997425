import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.functions.corpus.base import Pair, Product, Square, one, two


class SavedIntermediate(Function):
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(ctx, x):  # expect: GS110
        ctx.save_for_backward(x.cos())  # expect: GS205
        return x.sin()

    @staticmethod
    def backward(ctx, grad):
        (cosine,) = ctx.saved_tensors
        return cosine * grad


class RaisesWhereDifferentiated(Function):
    """A second derivative raises for what backward does, and is not silently wrong for what forward saves."""

    gradscope_inputs = staticmethod(one())

    # clean: GS205
    @staticmethod
    def forward(ctx, x):  # expect: GS110
        sigmoid = x.sigmoid()
        ctx.save_for_backward(x, sigmoid)
        return x * sigmoid

    @staticmethod
    def backward(ctx, grad):
        x, sigmoid = ctx.saved_tensors
        result = torch.empty_like(grad)
        torch.mul(grad, sigmoid * (1 + x * (1 - sigmoid)), out=result)  # expect: GS123
        return result


class HelperGradientIgnored(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.sin(), x.cos()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):  # expect: GS206
        (cosine,) = ctx.saved_tensors
        return cosine * grad


class ComputesInSetup(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0].cos())  # expect: GS207

    @staticmethod
    def backward(ctx, grad):
        (cosine,) = ctx.saved_tensors
        return cosine * grad


class SavesTwice(Product):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.save_for_backward(inputs[1])  # expect: GS208


class SavesNumber(Square):
    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0], 2)  # expect: GS209


class ReadsClearedTwice(Product):
    clear_saved_tensors_on_access = True

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0]
        y = ctx.saved_tensors[1]  # expect: GS223
        return grad * y, grad * x


class ReadsClearedOnce(Square):  # expect: GS223
    clear_saved_tensors_on_access = True


class WritesSaved(Square):
    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return x.mul_(2) * grad  # expect: GS224


class WritesSavedUnseen(Product):
    """As kernels do that need no buffer of their own: torch counts no version of what is written through .data."""

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        first, second = grad * y, grad * x
        x.data.copy_(first)  # expect: GS224
        return x.data, second


class SaveOrderDiffers(Product):
    gradscope_inputs = staticmethod(two(3, 3))

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y = inputs
        ctx.save_for_backward(x, y)
        ctx.save_for_forward(y, x)  # expect: GS225

    @staticmethod
    def jvp(ctx, x_tangent, y_tangent):
        y, x = ctx.saved_tensors
        first = 0 * x if x_tangent is None else x_tangent * y
        return first if y_tangent is None else first + x * y_tangent


class SavedForShape(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)  # expect: GS501

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1).expand(x.shape)


class CleanOnceDifferentiable(Function):
    # clean: GS205 GS207 GS341
    """Saves an intermediate, and says that it cannot be differentiated twice."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())
    gradscope_level = "eager"

    @staticmethod
    def forward(x):
        return x.sin()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0].cos())

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        return ctx.saved_tensors[0] * grad


class CleanLocallyConstant(Function):
    # clean: GS205 GS207 GS216 GS217
    """Saves a mask, whose derivative is zero: no fault."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (torch.tensor([-1.5, 0.7, 2.0, -0.3]),))

    @staticmethod
    def forward(x):
        return x * (x > 0), x > 0

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0]


class CleanPair(Pair):
    pass
