"""Custom Functions under torch.func that read all sorts of tensors from around them, and miss no gradient."""

import torch
from torch import nn
from torch.func import functional_call, grad, jacrev, jvp, vjp, vmap

torch.manual_seed(0)
CONSTANT = torch.linspace(1, 2, 3)
FROZEN = nn.Parameter(torch.ones(3))


class Scale(torch.autograd.Function):
    offset = None
    generate_vmap_rule = True

    @staticmethod
    def forward(x, scale, module):
        if module is not None and module.mean.sum() > 10:
            return x
        if Scale.offset is not None:
            return x * scale * CONSTANT * FROZEN + Scale.offset
        return torch.ones(3) * x * scale * CONSTANT * FROZEN

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.save_for_forward(*inputs[:2])

    @staticmethod
    def backward(ctx, gradient):
        x, scale = ctx.saved_tensors
        return gradient * scale * CONSTANT * FROZEN, gradient * x * CONSTANT * FROZEN, None

    @staticmethod
    def jvp(ctx, x_tangent, scale_tangent, _):
        x, scale = ctx.saved_tensors
        return (x_tangent * scale + x * scale_tangent) * CONSTANT * FROZEN

    @classmethod
    def over(cls, x, scale):
        """The offset of a tensor that is differentiated, but itself is not."""
        cls.offset = x.detach() * 2
        return cls.apply(x, scale, None).sum()


class Read(torch.autograd.Function):
    """Looks at a captured tensor, and lets go of its gradient by hand."""

    @staticmethod
    def forward(x):
        assert torch.isfinite(kept).all()
        assert kept.square().mean() < 100
        return torch.where(kept > 0, x, x.detach()) * kept.detach().shape[0]

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(3))
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        return Scale.apply(x, self.scale, self)


def read(x):
    global kept
    kept = x * 2
    return Read.apply(x).sum()


layer, x = Layer(), torch.randn(3)
parameters = dict(layer.named_parameters())
print(grad(lambda one: functional_call(layer, one, (x,)).sum())(parameters)["scale"])
print(grad(read)(x))
for _ in range(2):
    print(grad(Scale.over, argnums=(0, 1))(x, CONSTANT))
print(jacrev(lambda one: Scale.apply(one, CONSTANT, layer))(x))
print(vjp(Scale.over, x, CONSTANT)[1](torch.tensor(1.0)))
Scale.offset = None
print(jvp(lambda one: Scale.apply(one, CONSTANT, layer), (x,), (x,)))
print(vmap(grad(lambda one: Scale.apply(one, CONSTANT, layer).sum()))(torch.randn(2, 3)))
