"""Functions that use what torch 2.14 and 2.15 brought: `needs` is where torch has it."""

import torch
from torch.autograd import Function

from tests.functions.corpus.base import one
from tests.functions.corpus.numbers import CleanHalfOutput


class FusedAccumulation(Function):
    # clean: GS123
    """Adds to the buffer of its input's gradient where there is one; torch refuses second derivatives then."""

    needs = "torch.autograd.function.FunctionCtx.input_grad_buffers"
    gradscope_level = "eager"
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(x):
        return x * 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        (buffer,) = ctx.input_grad_buffers
        if buffer is None:
            return grad * 3
        buffer.add_(grad, alpha=3)
        return None


class FusedAccumulationThatRaises(FusedAccumulation):
    @staticmethod
    def backward(ctx, grad):
        (_, buffer) = ctx.input_grad_buffers  # expect: GS123
        return grad * 3 if buffer is None else None


class BoxedGradients(Function):
    # clean: GS123 GS401
    """Takes its gradients in a list, and lets go of one after the other."""

    needs = "torch.autograd.Function.boxed_grads_call"
    gradscope_level = "eager"
    boxed_grads_call = True
    gradscope_inputs = staticmethod(one())

    @staticmethod
    def forward(ctx, x):  # expect: GS110
        ctx.save_for_backward(x)
        return x.sin(), x.cos()

    @staticmethod
    def backward(ctx, grads):
        (x,) = ctx.saved_tensors
        second = grads.pop()
        return grads.pop() * x.cos() - second * x.sin()


class BoxedGradientsSwapped(BoxedGradients):
    @staticmethod
    def forward(ctx, x):  # expect: GS110
        return BoxedGradients.forward(ctx, x)

    @staticmethod
    def backward(ctx, grads):  # expect: GS401
        (x,) = ctx.saved_tensors
        first = grads.pop()
        return first * x.cos() - grads.pop() * x.sin()


class WideGradient(CleanHalfOutput):
    # clean: GS401 GS402 GS403
    """Gives bfloat16 and asks for its gradient in float32."""

    needs = "torch.autograd.function.FunctionCtx.set_output_grad_dtype"

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)
        ctx.set_output_grad_dtype(torch.float32)


class WideGradientHalved(WideGradient):
    @staticmethod
    def backward(ctx, grad):  # expect: GS401
        (x,) = ctx.saved_tensors
        return grad.to(x.dtype) * x
