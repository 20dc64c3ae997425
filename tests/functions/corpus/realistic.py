"""Right Functions in the style of well-known libraries: no error on any of them."""

import torch
import torch.nn.functional as F
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.functions.corpus.base import one, two


def spread(*shape):
    """Values on both sides of zero, none near it."""
    return lambda: (torch.linspace(-2.1, 1.9, max(torch.Size(shape).numel(), 1)).reshape(shape) + 0.013,)


class Swish(Function):
    """A memory-efficient activation: saves the input, computes the sigmoid again."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(spread(3, 4))

    @staticmethod
    def forward(x):
        return x * torch.sigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        gate = torch.sigmoid(x)
        return grad * gate * (1 + x * (1 - gate))


class Mish(Function):
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(spread(3, 4))

    @staticmethod
    def forward(x):
        return x * torch.tanh(F.softplus(x))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        inner = torch.tanh(F.softplus(x))
        return grad * (inner + x * (1 - inner * inner) * torch.sigmoid(x))


class Sparsemax(Function):
    """A sparse softmax: the projection onto the simplex."""

    gradscope_inputs = staticmethod(lambda: (torch.tensor([[0.5, 0.1, -0.9, 0.3], [1.1, 0.93, 0.2, -0.4]]),))

    @staticmethod
    def forward(x):
        ordered, _ = x.sort(-1, descending=True)
        ranks = torch.arange(1, x.shape[-1] + 1, dtype=x.dtype, device=x.device)
        sums = ordered.cumsum(-1) - 1
        count = (ranks * ordered > sums).sum(-1, keepdim=True)
        threshold = sums.gather(-1, count - 1) / count
        return (x - threshold).clamp(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        (result,) = ctx.saved_tensors
        support = (result > 0).to(grad.dtype)
        mean = (grad * support).sum(-1, keepdim=True) / support.sum(-1, keepdim=True)
        return support * (grad - mean)


class RoundStraightThrough(Function):
    """A straight-through estimator."""

    generate_vmap_rule = True
    custom_gradient = True
    gradscope_inputs = staticmethod(spread(3, 4))

    @staticmethod
    def forward(x):
        return torch.round(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad


class ReverseGradient(Function):
    generate_vmap_rule = True
    custom_gradient = True
    gradscope_inputs = staticmethod(lambda: (*one()(), 0.5))

    @staticmethod
    def forward(x, strength):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.strength = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


class FakeQuantize(Function):
    """A quantiser with a clipped straight-through gradient."""

    generate_vmap_rule = True
    custom_gradient = True
    gradscope_inputs = staticmethod(lambda: (*spread(3, 4)(), 0.1, 8))

    @staticmethod
    def forward(x, scale, bits):
        limit = 2 ** (bits - 1)
        return (x / scale).round().clamp(-limit, limit - 1) * scale

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.scale, ctx.bits = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        limit = 2 ** (ctx.bits - 1) * ctx.scale
        return grad * (x.abs() <= limit), None, None


class LayerNorm(Function):
    # clean: GS415 GS412 GS501
    """Statistics are outputs of their own, so that second derivatives stay right."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (*spread(3, 5)(), 1e-5))

    @staticmethod
    def forward(x, eps):
        mean = x.mean(-1, keepdim=True)
        return (x - mean) * ((x - mean).square().mean(-1, keepdim=True) + eps).rsqrt()

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, ctx.eps = inputs
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        centred = x - x.mean(-1, keepdim=True)
        scale = (centred.square().mean(-1, keepdim=True) + ctx.eps).rsqrt()
        normal = centred * scale
        inner = grad - grad.mean(-1, keepdim=True) - normal * (grad * normal).mean(-1, keepdim=True)
        return inner * scale, None


class RMSNorm(Function):
    # clean: GS403 GS414
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (*spread(3, 4)(), torch.rand(4) + 0.5))

    @staticmethod
    def forward(x, weight):
        return x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        scale = (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
        first = second = None
        if ctx.needs_input_grad[0]:
            inner = grad * weight
            first = scale * inner - x * scale**3 * (inner * x).mean(-1, keepdim=True)
        if ctx.needs_input_grad[1]:
            second = (grad * x * scale).sum_to_size(weight.shape)
        return first, second


class Attention(Function):
    """Attention that saves the logsumexp instead of the probabilities."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(
        lambda: tuple(t * s for t, s in zip(3 * spread(3, 4)(), (1.0, 0.7, 1.3), strict=True))
    )

    @staticmethod
    def forward(query, key, value):
        scores = query @ key.transpose(-1, -2)
        total = scores.logsumexp(-1, keepdim=True)
        return (scores - total).exp() @ value, total

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(*inputs, *output)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad, _):
        query, key, value, result, total = ctx.saved_tensors
        weights = (query @ key.transpose(-1, -2) - total).exp()
        needs = ctx.needs_input_grad
        scores = weights * (grad @ value.transpose(-1, -2) - (grad * result).sum(-1, keepdim=True))
        return (
            scores @ key if needs[0] else None,
            scores.transpose(-1, -2) @ query if needs[1] else None,
            weights.transpose(-1, -2) @ grad if needs[2] else None,
        )

    gradscope_level = "eager"


class Recompute(Function):
    """Checkpoint-like: runs the block again in backward."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (torch.tanh, *spread(3, 4)()))

    @staticmethod
    def forward(block, x):
        return block(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.block, x = inputs
        ctx.save_for_backward(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        with torch.enable_grad():
            x = ctx.saved_tensors[0].detach().requires_grad_()
            result = ctx.block(x)
        return None, torch.autograd.grad(result, x, grad)[0]


class AllReduce(Function):
    # clean: GS215
    """All-reduce-like: a sum over a group of one."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (*one()(), None))

    @staticmethod
    def forward(x, group):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.group = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return AllReduce.apply(grad, ctx.group), None


class Reversible(Function):
    """A reversible block: two halves in, two halves out, inputs saved."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(two())

    @staticmethod
    def forward(x, y):
        first = x + torch.tanh(y)
        return first, y + torch.sigmoid(first)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1], output[0])

    @staticmethod
    def backward(ctx, first_grad, second_grad):
        y, first = ctx.saved_tensors
        gate = torch.sigmoid(first)
        inner = first_grad + second_grad * gate * (1 - gate)
        return inner, second_grad + inner * (1 - torch.tanh(y).square())


class FirstColumn(Function):
    """A view output, copied."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x[..., 0].clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.width = inputs[0].shape[-1]

    @staticmethod
    def backward(ctx, grad):
        return F.pad(grad.unsqueeze(-1), (0, ctx.width - 1))


class ScatterSum(Function):
    # clean: GS311
    """Sums rows into segments, as graph libraries do."""

    gradscope_inputs = staticmethod(lambda: (*one(4, 3)(), torch.tensor([0, 1, 0, 1]), 2))

    @staticmethod
    def forward(x, index, size):
        return x.new_zeros(size, x.shape[-1]).index_add_(0, index, x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx, grad):
        return grad[ctx.saved_tensors[0]], None, None


class Dropout(Function):
    # clean: GS312 GS409
    """Dropout whose mask is an output of its own."""

    gradscope_inputs = staticmethod(lambda: (*one()(), 0.5))

    @staticmethod
    def forward(x, probability):
        mask = (torch.rand_like(x) > probability).to(x.dtype) / (1 - probability)
        return x * mask, mask

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad * ctx.saved_tensors[0], None


class ReluInPlace(Function):
    # clean: GS210 GS213 GS214 GS502
    gradscope_inputs = staticmethod(spread(3, 4))

    @staticmethod
    def forward(x):
        return x.clamp_(min=0)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, grad):
        return grad * (ctx.saved_tensors[0] > 0)

    @staticmethod
    def vmap(info, in_dims, x):
        return ReluInPlace.apply(x), in_dims[0]


class CrossEntropy(Function):
    # clean: GS113 GS309
    """Loss with integer targets."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (*spread(4, 3)(), torch.tensor([0, 2, 1, 1])))

    @staticmethod
    def forward(x, target):
        return -x.log_softmax(-1).gather(-1, target.unsqueeze(-1)).mean()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, target = ctx.saved_tensors
        chosen = torch.zeros_like(x).scatter(-1, target.unsqueeze(-1), 1.0)
        return grad * (x.softmax(-1) - chosen) / target.numel(), None
