"""First and second derivatives of a network with respect to its input: the weights' gradients are never asked for."""

import torch
from torch import nn

WIDTH, STEPS = 32, 3


class Square(torch.autograd.Function):
    """x * weight squared; its backward computes both gradients, asked for or not."""

    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return (x * weight) ** 2

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        inner = 2 * gradient * x * weight
        return inner * weight, (inner * x).sum(0)


class Potential(nn.Module):
    """Linear and relu layers, then a smooth end so that second derivatives do not vanish."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.scale = nn.Parameter(torch.full((WIDTH,), 0.5))
        self.last = nn.Linear(WIDTH, 1)

    def forward(self, x):
        hidden = torch.relu(self.second(torch.relu(self.first(x))))
        return self.last(Square.apply(hidden, self.scale)).squeeze(-1)


def hessian(potential, x):
    """One row for each coordinate: the derivative of the first derivative."""
    (force,) = torch.autograd.grad(potential(x).sum(), x, create_graph=True)
    rows = [torch.autograd.grad(force[:, one].sum(), x, retain_graph=True)[0] for one in range(x.shape[1])]
    return force, torch.stack(rows, 1)


def main():
    torch.manual_seed(0)
    potential = Potential()
    x = torch.randn(64, 2, requires_grad=True)
    for step in range(STEPS):
        force, curvature = hessian(potential, x)
        with torch.no_grad():
            x -= 0.01 * force
        print(f"step {step} mean curvature {curvature.diagonal(dim1=1, dim2=2).mean().item():.6f}")
    print(f"final loss {potential(x).mean().item():.9f}")


main()
