"""Right Functions as library authors write them, part two: kernels' wrappers, quantisers, mixed precision."""

import math

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.functions.corpus.base import fixed


class FlashAttention(Function):
    # clean: GS202 GS208 GS330 GS341 GS406 GS410 GS411 GS416
    """A wrapper around a fused kernel: one method, the logsumexp saved and returned, options as arguments."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (*fixed(3, 2, 5, 4).unbind(0), None, True))

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
    def forward(ctx, query, key, value, scale=None, causal=False):
        ctx.scale, ctx.causal = query.shape[-1] ** -0.5 if scale is None else scale, causal
        scores = FlashAttention.scores(query, key, ctx)
        total = scores.logsumexp(-1)
        result = torch.exp(scores - total.unsqueeze(-1)) @ value
        ctx.save_for_backward(query, key, value, result, total)
        ctx.mark_non_differentiable(total)
        return result, total

    @staticmethod
    def scores(query, key, ctx):
        scores = query @ key.transpose(-1, -2) * ctx.scale
        mask = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        return scores.masked_fill(mask, float("-inf")) if ctx.causal else scores

    @staticmethod
    @once_differentiable
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad, *_):
        query, key, value, result, total = ctx.saved_tensors
        weights = torch.exp(FlashAttention.scores(query, key, ctx) - total.unsqueeze(-1))
        needed = ctx.needs_input_grad
        inner = weights * (grad @ value.transpose(-1, -2) - (grad * result).sum(-1, keepdim=True)) * ctx.scale
        return (
            inner @ key if needed[0] else None,
            inner.transpose(-1, -2) @ query if needed[1] else None,
            weights.transpose(-1, -2) @ grad if needed[2] else None,
            None,
            None,
        )


class LearnedScaleQuantizer(Function):
    """A scale per channel that is learned; straight-through for the values."""

    custom_gradient = True
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(
        lambda: (fixed(3, 4).requires_grad_(), (fixed(4).abs() + 0.1).requires_grad_(), torch.zeros(4), -8, 7, 1)
    )

    @staticmethod
    def shaped(channel, x, axis):
        return channel.view([-1 if d == axis % x.dim() else 1 for d in range(x.dim())])

    @staticmethod
    def forward(x, scale, zero, low, high, axis):
        scale, zero = (LearnedScaleQuantizer.shaped(c, x, axis) for c in (scale, zero))
        return (torch.clamp(torch.round(x / scale) + zero, low, high) - zero) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, scale, zero, ctx.low, ctx.high, ctx.axis = inputs
        ctx.save_for_backward(x, scale, zero)

    @staticmethod
    def backward(ctx, grad):
        x, scale, zero = ctx.saved_tensors
        steps, zero = (LearnedScaleQuantizer.shaped(c, x, ctx.axis) for c in (scale, zero))
        raw = torch.round(x / steps) + zero
        inside = (raw >= ctx.low) & (raw <= ctx.high)
        first = second = None
        if ctx.needs_input_grad[0]:
            first = grad * inside
        if ctx.needs_input_grad[1]:
            rounded = raw.clamp(ctx.low, ctx.high) - zero
            step = torch.where(inside, rounded - x / steps, rounded) * grad
            second = step.sum([d for d in range(x.dim()) if d != ctx.axis])
        return first, second, None, None, None, None


class GeluInSinglePrecision(Function):
    # clean: GS401 GS404 GS405
    """Computes in float32 whatever it is given and casts back: its double precision is full of float32 noise."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(4, 8).to(torch.bfloat16),))

    @staticmethod
    def forward(x):
        return F.gelu(x.float(), approximate="tanh").to(x.dtype)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].float()
        slope = math.sqrt(2 / math.pi)
        inner = torch.tanh(slope * (x + 0.044715 * x**3))
        derivative = 0.5 * (1 + inner) + 0.5 * x * (1 - inner * inner) * slope * (1 + 3 * 0.044715 * x * x)
        return (grad.float() * derivative).to(grad.dtype)


class FusedRMSNorm(Function):
    # clean: GS341 GS404 GS405
    """Statistics in float32 for half precision; the scale saved as an output."""

    gradscope_level = "eager"
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(
        lambda: [(fixed(3, 4), fixed(4).abs() + 0.5, 1e-5), (fixed(2, 3, 8).half(), fixed(8).half().abs(), 1e-5)]
    )

    @staticmethod
    def wide(x):
        return x.float() if x.dtype in (torch.float16, torch.bfloat16) else x

    @staticmethod
    def forward(x, weight, eps):
        values = FusedRMSNorm.wide(x)
        scale = torch.rsqrt(values.pow(2).mean(-1, keepdim=True) + eps)
        return (values * scale * weight).to(x.dtype), scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, ctx.eps = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(x, weight, output[1])

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, _):
        x, weight, scale = ctx.saved_tensors
        values, grad = FusedRMSNorm.wide(x), FusedRMSNorm.wide(grad)
        first = second = None
        if ctx.needs_input_grad[0]:
            inner = weight * grad
            mean = (values * scale * inner).mean(-1, keepdim=True)
            first = ((inner - values * scale * mean) * scale).to(x.dtype)
        if ctx.needs_input_grad[1]:
            second = (grad * values * scale).reshape(-1, x.shape[-1]).sum(0).to(weight.dtype)
        return first, second, None


class SparseProduct(Function):
    """A sparse matrix, given by positions and values, times a dense one."""

    gradscope_inputs = staticmethod(lambda: (torch.tensor([[0, 1, 2, 2], [1, 0, 1, 2]]), fixed(4), 3, 3, fixed(3, 5)))

    @staticmethod
    def forward(positions, values, rows, columns, dense):
        terms = values[:, None] * dense[positions[1]]
        return dense.new_zeros(rows, dense.shape[1]).index_add(0, positions[0], terms)

    @staticmethod
    def setup_context(ctx, inputs, output):
        positions, values, _, ctx.columns, dense = inputs
        ctx.save_for_backward(positions, values, dense)

    @staticmethod
    def backward(ctx, grad):
        positions, values, dense = ctx.saved_tensors
        first = second = None
        if ctx.needs_input_grad[1]:
            first = (grad[positions[0]] * dense[positions[1]]).sum(-1)
        if ctx.needs_input_grad[4]:
            terms = values[:, None] * grad[positions[0]]
            second = dense.new_zeros(ctx.columns, dense.shape[1]).index_add(0, positions[1], terms)
        return None, first, None, None, second


def made_with(scale, power):
    """A Function whose class is made inside a function, over plain values."""

    class Power(Function):
        generate_vmap_rule = True
        gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

        @staticmethod
        def forward(x):
            return scale * x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * scale * power * x ** (power - 1)

    return Power


Cubed = made_with(3.0, power=3)


class CosineBackward(Function):
    # clean: GS227 GS229
    """The backward of the next one, differentiable in its turn."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), fixed(3, 4).flip(0)))

    @staticmethod
    def forward(grad, x):
        return grad * torch.cos(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, outer):
        grad, x = ctx.saved_tensors
        first = outer * torch.cos(x) if ctx.needs_input_grad[0] else None
        return first, -outer * grad * torch.sin(x) if ctx.needs_input_grad[1] else None


class Sine(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):
        return torch.sin(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return CosineBackward.apply(grad, *ctx.saved_tensors)


class TopValues(Function):
    # clean: GS113 GS216 GS217
    """Values and their places, which are integers; a vmap rule by hand."""

    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), 2))

    @staticmethod
    def forward(x, count):
        values, places = x.topk(count, -1)
        return values, places

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.shape = inputs[0].shape
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        (places,) = ctx.saved_tensors
        return grad.new_zeros(ctx.shape).scatter(-1, places, grad), None

    @staticmethod
    def vmap(info, in_dims, x, count):
        return TopValues.apply(x.movedim(in_dims[0], 0), count), (0, 0)
