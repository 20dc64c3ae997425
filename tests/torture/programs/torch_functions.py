"""torch.func transforms, forward mode, batched gradients, hessians, vmapped custom Functions."""

import torch
from _witness import bits, checkpoint
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x**3, x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient, unused):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * gradient

    @staticmethod
    def jvp(ctx, tangent):
        return tangent, tangent


def f(x):
    return Cube.apply(x)[0].sin().sum()


torch.manual_seed(0)
x = torch.randn(3, requires_grad=True)
print(bits(grad(f)(x), vmap(grad(f))(torch.randn(2, 3)), hessian(f)(x), jacrev(torch.exp)(x), jacfwd(torch.exp)(x)))
output, pull = vjp(f, x)
print(bits(output, *pull(torch.ones(()))))
print(bits(*jvp(torch.sin, (x,), (x,))))
print(bits(grad(grad(lambda x: torch.sin(x).sum().square()))(x[0])))
models = [torch.nn.Linear(3, 2) for _ in range(3)]
parameters, buffers = stack_module_state(models)
print(bits(vmap(lambda p, b: functional_call(models[0], (p, b), (x,)))(parameters, buffers)))
y = f(x)
rows = torch.autograd.grad(x.exp(), x, torch.eye(3), is_grads_batched=True)
print(bits(*rows))
print(bits(torch.autograd.functional.hvp(f, x, x)[1], torch.autograd.functional.jacobian(torch.exp, x, vectorize=True)))
y.backward()
print(torch.autograd.gradcheck(lambda x: Cube.apply(x)[0], torch.randn(2, dtype=torch.double, requires_grad=True)))
try:
    vmap(lambda x: x.item())(torch.ones(2))
except RuntimeError as error:
    print(error)
del rows, output, pull, y
checkpoint("end")
