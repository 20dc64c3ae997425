"""A backward that adds to the buffers of its inputs' gradients gets the same buffers, and gradients, when recorded."""

import torch
from _witness import bits

FREE = not hasattr(torch.autograd.function.FunctionCtx, "input_grad_buffers")  # before torch 2.15 there are none


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        (buffer,) = (None,) if FREE else ctx.input_grad_buffers
        print("buffer", buffer is not None)
        if buffer is None:
            return grad * 3
        buffer.add_(grad, alpha=3)
        return None


class Indirect(Fused):
    @staticmethod
    def backward(ctx, grad):
        return Fused.backward(ctx, grad)


x = torch.linspace(0, 1, 4, requires_grad=True)
for function in (Fused, Indirect):
    for step in range(3):
        hidden = x.exp()
        (function.apply(hidden).sum() + (hidden * 2).sum()).backward()
        print(step, bits(x.grad))
        x.grad = None
    hidden = x.exp()
    loss = function.apply(hidden).sum() + hidden.sin().sum()
    try:
        torch.autograd.grad(loss, x, create_graph=True)
    except RuntimeError as error:
        print(error)
