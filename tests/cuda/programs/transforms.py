"""torch.func on the device: per-sample gradients, a Jacobian, a Hessian-vector product, a custom Function."""

import torch
from _bits import bits
from torch import nn
from torch.func import functional_call, grad, jacrev, jvp, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 2)).cuda()
weights = {name: one.detach() for name, one in model.named_parameters()}
x, y = torch.randn(12, 8, device="cuda"), torch.randn(12, 2, device="cuda")


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 3 * ctx.saved_tensors[0] ** 2


def loss(weights, one, target):
    return (Cube.apply(functional_call(model, weights, one)) - target).square().mean()


for _ in range(4):
    each = vmap(grad(loss), (None, 0, 0))(weights, x, y)
    print(bits(*each.values()))
print(bits(jacrev(lambda one: functional_call(model, weights, one))(x[0])))
print(bits(jvp(grad(lambda one: functional_call(model, weights, one).square().sum()), (x,), (torch.ones_like(x),))[1]))
