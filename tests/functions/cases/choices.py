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


class SelfIsContext(Function):
    """Written as before torch 0.4; apply takes it all the same."""

    def forward(self, x):
        self.save_for_backward(x)
        return x * x

    def backward(self, grad):
        (x,) = self.saved_tensors
        return 2 * x * grad


class HoldsItsFactor(Function):
    """Written as before torch 0.4, with a value that only an instance would have."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        return x * self.factor

    def backward(self, grad):
        return grad * self.factor


class ForwardAlone(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class CombinedWithRule(Combined):
    generate_vmap_rule = True


class Doubled(Function):
    """A gradient that is twice too large."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 4 * x * grad


class Unpacked(Function):
    """A name that was never unpacked."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return 2 * x * grad  # noqa: F821, the fault


class WritesGradient(Function):
    @staticmethod
    def forward(ctx, x):
        return 2 * x

    @staticmethod
    def backward(ctx, grad):
        return grad.mul_(2)


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


class NotBuilt(Function):
    @staticmethod
    def forward(ctx, x):
        raise ValueError("the kernel is not built")

    @staticmethod
    def backward(ctx, grad):
        return grad


class Asserts(Function):
    @staticmethod
    def forward(ctx, x):
        assert x.dim() == 17
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad


class SparseLeft(Function):
    """A sparse matrix times a dense one."""

    @staticmethod
    def gradscope_inputs():
        return torch.eye(3).to_sparse(), torch.rand(3, 2)

    @staticmethod
    @torch.amp.custom_fwd(device_type="cpu")
    def forward(ctx, sparse, dense):
        ctx.save_for_backward(sparse)
        return torch.sparse.mm(sparse, dense)

    @staticmethod
    @torch.amp.custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        return None, torch.sparse.mm(ctx.saved_tensors[0].t(), grad)


class HalfInside(Function):
    """Multiplies in bfloat16 and casts back."""

    @staticmethod
    def gradscope_inputs():
        values = torch.randn(12, 8, generator=torch.Generator().manual_seed(5)) / 2
        return values[:4], values[4:]

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return (x.bfloat16() @ weight.bfloat16()).to(x.dtype)

    @staticmethod
    def backward(ctx, grad):
        x, weight = (saved.bfloat16() for saved in ctx.saved_tensors)
        first = (grad.bfloat16() @ weight.t()).to(grad.dtype) if ctx.needs_input_grad[0] else None
        return first, (x.t() @ grad.bfloat16()).to(grad.dtype) if ctx.needs_input_grad[1] else None


class HalfInsideAndWrong(HalfInside):
    @staticmethod
    def backward(ctx, grad):
        first, second = HalfInside.backward(ctx, grad)
        return first, second if second is None else 3 * second


class MarksDirty(Function):
    @staticmethod
    def forward(x):
        return x.mul_(2)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_dirty(inputs[0])

    @staticmethod
    def backward(ctx, grad):
        return 2 * grad

    @staticmethod
    def vmap(info, in_dims, x):
        return MarksDirty.apply(x), in_dims[0]


class MarksDirtyGenerated(MarksDirty):
    generate_vmap_rule = True
    vmap = Function.vmap
