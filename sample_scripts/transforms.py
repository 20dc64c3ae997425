"""Nested torch.func transforms: per-sample gradients, a Hessian, the Jacobian of a custom Function, random masks."""

import torch
from torch import nn
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, vmap

STEPS = 5


class SoftClip(torch.autograd.Function):
    """tanh with a backward of its own; torch.func can map it."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return torch.tanh(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(output)

    @staticmethod
    def backward(ctx, gradient):
        (output,) = ctx.saved_tensors
        return gradient * (1 - output * output)


class Field(nn.Module):
    """A scalar field over the plane."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 8)
        self.second = nn.Linear(8, 1)

    def forward(self, point):
        return self.second(SoftClip.apply(self.first(point))).squeeze(-1)


def main():
    torch.manual_seed(0)
    field = Field()
    parameters = {name: value.detach().clone() for name, value in field.named_parameters()}
    points = torch.rand(16, 2) * 2 - 1

    def value(parameters, point):
        return functional_call(field, parameters, (point,))

    def energy(parameters, point):
        """Half the squared slope, masked at random."""
        slope = grad(value, argnums=1)(parameters, point)
        mask = (torch.rand(2) > 0.2).float()
        return 0.5 * (slope * mask).square().sum() + (value(parameters, point) - point.square().sum()).square()

    for step in range(STEPS):
        gradients = vmap(grad(energy), in_dims=(None, 0), randomness="different")(parameters, points)
        parameters = {name: parameters[name] - 0.05 * gradients[name].mean(dim=0) for name in parameters}
        loss = vmap(energy, in_dims=(None, 0), randomness="same")(parameters, points).mean()
        print(f"step {step} loss {loss.item():.6f}")
    curvature = vmap(hessian(lambda point: torch.sin(point).prod()))(points)
    jacobian = jacrev(lambda point: SoftClip.apply(point * 2))(points[0])
    forward = jacfwd(torch.sin)(points[0])
    print(f"curvature {curvature.diagonal(dim1=1, dim2=2).mean().item():.6f}")
    print(f"jacobian {jacobian.trace().item():.6f} {forward.trace().item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
