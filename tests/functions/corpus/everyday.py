"""Right Functions as library authors write them, part three: mixed precision, custom gradients, caches, numpy."""

import numpy as np
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from tests.functions.corpus.base import fixed

CACHE = {}


class SquaredModulus(Function):
    """Complex in, real out."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (torch.complex(fixed(3, 4), fixed(3, 4).flip(1)),))

    @staticmethod
    def forward(z):
        return z.real**2 + z.imag**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad * ctx.saved_tensors[0]


class Elementwise(Function):
    """A base without forward; it is no Function of its own."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class Cube(Elementwise):
    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def backward(ctx, grad):
        return 3 * ctx.saved_tensors[0] ** 2 * grad


class MixedPrecisionLinear(Function):
    # clean: GS416
    """custom_fwd and custom_bwd of torch.amp."""

    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), fixed(5, 4)))

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x @ weight.t()

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad @ weight if ctx.needs_input_grad[0] else None, grad.t() @ x if ctx.needs_input_grad[1] else None


class GradientClip(Function):
    # clean: GS418
    """Clips what flows back: not linear in the incoming gradient, by design."""

    custom_gradient = True
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), 0.1))

    @staticmethod
    def forward(x, bound):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.bound = inputs[1]

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-ctx.bound, ctx.bound), None


class StraightThroughBothWays(Function):
    """A custom gradient forwards and backwards."""

    custom_gradient = True
    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):
        return torch.sign(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad

    @staticmethod
    def jvp(ctx, tangent):
        return tangent.clone()


class CachedWindow(Function):
    # clean: GS221 GS226 GS228 GS342 GS421
    """Caches a plain tensor, made from sizes and dtype."""

    generate_vmap_rule = True
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def window(x):
        key = x.shape[-1], x.dtype
        if key not in CACHE:
            CACHE[key] = torch.hann_window(x.shape[-1] + 2, dtype=x.dtype, device=x.device)[1:-1]
        return CACHE[key]

    @staticmethod
    def forward(x):
        return x * CachedWindow.window(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return grad * CachedWindow.window(grad)


class Offloaded(Function):
    """Computes with numpy in both directions, and says what that rules out."""

    # clean: GS230 GS310 GS407
    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.from_numpy(np.tanh(x.detach().cpu().numpy())).to(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        values = ctx.saved_tensors[0].detach().cpu().numpy()
        return grad * torch.from_numpy(1 - np.tanh(values) ** 2).to(grad)


class CheckpointedLayer(Function):
    """Computes forward again in backward, with torch.func, which every transform takes."""

    # clean: GS340
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), fixed(4, 2)))
    generate_vmap_rule = True

    @staticmethod
    def layer(x, weight):
        return torch.tanh(x @ weight)

    @staticmethod
    def forward(x, weight):
        return CheckpointedLayer.layer(x, weight)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        _, pull = torch.func.vjp(CheckpointedLayer.layer, x, weight)
        first, second = pull(grad)
        return first if ctx.needs_input_grad[0] else None, second if ctx.needs_input_grad[1] else None


class ReadsOnceAndClears(Function):
    """Its backward closes over plain values, reads its saved tensors once, and needs no second run."""

    # clean: GS204 GS223
    clear_saved_tensors_on_access = False
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4), 2))
    generate_vmap_rule = True

    @staticmethod
    def forward(x, power):
        return x**power

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, power = inputs
        ctx.derivative = lambda values: power * values ** (power - 1)
        ctx.save_for_backward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * ctx.derivative(x), None


class BoxedInEagerMode(Function):
    """Takes its gradients as one list, which eager mode does."""

    # clean: GS122
    needs = "torch.autograd.Function.boxed_grads_call"
    boxed_grads_call = True
    gradscope_level = "eager"
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x, 3 * x

    @staticmethod
    def backward(ctx, grads):
        first, second = grads
        grads.clear()
        return 2 * ctx.saved_tensors[0] * first + 3 * second


class UnderInferenceMode(Function):
    """Finds a constant in inference mode, and saves a copy of it."""

    # clean: GS121
    gradscope_inputs = staticmethod(lambda: (fixed(3, 4),))

    @staticmethod
    def forward(x):
        with torch.inference_mode():
            largest = x.abs().max()
        return x / 4, largest.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    @staticmethod
    def backward(ctx, grad, _):
        return grad / 4
