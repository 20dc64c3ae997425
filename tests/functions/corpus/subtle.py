"""Faults as they hide in real code: each a small slip in an otherwise right Function."""

import torch
import torch.nn.functional as F
from torch.autograd import Function

from tests.functions.corpus.base import Product, Square, fixed

LAST = {}
CACHE = {}


class MaskInGlobal(Square):
    """Hands its mask to backward through a global."""

    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):  # expect: GS228
        LAST["mask"] = (x > 0).to(x.dtype)
        return x * x * LAST["mask"]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * ctx.saved_tensors[0] * grad * LAST["mask"]

    jvp = Function.jvp
    generate_vmap_rule = False


class WrapperInCache(Function):
    """Its cache may be filled inside of vmap, with a tensor that nobody can use afterwards."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):
        if (x.shape, x.dtype) not in CACHE:
            CACHE[x.shape, x.dtype] = 2 * torch.ones_like(x)
        return x * CACHE[x.shape, x.dtype]  # expect: GS342

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class SummedOverTheWrongAxis(Product):
    """A scale per column whose gradient is summed per row; the shapes fit."""

    gradscope_inputs = staticmethod(lambda: (fixed(4, 4), fixed(4).abs() + 0.5))

    @staticmethod
    def backward(ctx, grad):  # expect: GS414
        x, scale = ctx.saved_tensors
        first = grad * scale if ctx.needs_input_grad[0] else None
        return first, (grad * x).sum(1) if ctx.needs_input_grad[1] else None


class SecondTermForgotten(Function):
    """A normalisation in half precision whose gradient takes the scale for a constant."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 8).half(),))

    @staticmethod
    def forward(x):
        values = x.float()
        return (values * torch.rsqrt(values.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):  # expect: GS401
        values = ctx.saved_tensors[0].float()
        return (grad.float() * torch.rsqrt(values.pow(2).mean(-1, keepdim=True) + 1e-5)).to(grad.dtype)


class LostDuplicates(Function):
    """An embedding whose gradient writes where it should add."""

    gradscope_inputs = staticmethod(lambda: (fixed(5, 3), torch.tensor([0, 2, 2])))

    @staticmethod
    def forward(table, index):
        return table[index]

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])
        ctx.shape = inputs[0].shape

    @staticmethod
    def backward(ctx, grad):  # expect: GS401
        (index,) = ctx.saved_tensors
        return grad.new_zeros(ctx.shape).index_copy(0, index, grad), None


class WritesSavedGradient(Function):
    """A fused loss that computes its gradient in forward and scales it in place."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(5, 7), torch.tensor([0, 2, 1, 3, 6])))

    @staticmethod
    def forward(ctx, x, target):  # expect: GS110
        chosen = F.one_hot(target, x.shape[-1]).to(x.dtype)
        ctx.save_for_backward((x.softmax(-1) - chosen) / len(target))
        return F.cross_entropy(x, target)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, grad):
        (saved,) = ctx.saved_tensors
        return saved.mul_(grad), None  # expect: GS224


class AllOrNothing(Product):
    """Gives nobody a gradient when the first input needs none."""

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        if not ctx.needs_input_grad[0]:  # expect: GS220
            return None, None
        return grad * y, grad * x if ctx.needs_input_grad[1] else None


class NoConjugate(Product):
    gradscope_inputs = staticmethod(lambda: (torch.complex(fixed(3), fixed(3)), torch.complex(fixed(3), -fixed(3))))

    @staticmethod
    def backward(ctx, grad):  # expect: GS413
        x, y = ctx.saved_tensors
        return grad * y if ctx.needs_input_grad[0] else None, grad * x if ctx.needs_input_grad[1] else None


class TangentOfNeither(Function):
    """Straight-through backwards, zero forwards: jvp follows neither the formula nor backward."""

    custom_gradient = True
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def jvp(ctx, tangent):  # expect: GS321
        return 2 * tangent
