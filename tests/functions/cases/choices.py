"""Functions for the tests of options."""

import torch
from torch.autograd import Function


class Silenced(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)  # gradscope: ignore[GS501] the shape is needed, and tensors are small

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad.unsqueeze(-1).expand_as(x)


class Combined(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, grad):
        x, y = ctx.saved_tensors
        return grad * y, grad * x


class FailsUnderVmap(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return 2 * x if x.sum() > -1000 else x

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad


class Reversal(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        return -grad


def reversal_reference(x):
    return x * 1


def other_reference(x):
    return x + 1


class Unguessable(Function):
    @staticmethod
    def forward(ctx, x):
        if x.shape != (7, 11, 13):
            raise ValueError("the shape must be (7, 11, 13)")
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Aborts(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        print("noise that must not reach the report")
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        import os

        os.abort()


class Hangs(Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad):
        while True:
            pass


class Leaves(Hangs):
    @staticmethod
    def backward(ctx, grad):
        raise SystemExit(3)


def without_source():
    """A Function with a wrong gradient whose source nobody can read."""
    names = {"torch": torch, "Function": Function, "__name__": "nowhere"}
    text = """
class Hidden(Function):
    generate_vmap_rule = True
    forward = staticmethod(lambda x: x * x)
    setup_context = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    backward = staticmethod(lambda ctx, grad: ctx.saved_tensors[0] * grad)
"""
    exec(text, names)
    return names["Hidden"]


def factory():
    return [(torch.rand(3) + 0.5,), (torch.rand(2, 2) + 0.5,)]


def broken_factory():
    raise RuntimeError("no data today")
