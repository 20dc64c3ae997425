"""Train a quantized network through custom autograd.Functions of the old and the new style."""

import torch
from torch import nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

STEPS = 15


class Swish(Function):
    """x * sigmoid(x) that saves its input alone and computes the sigmoid again in the backward."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * torch.sigmoid(x)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        sigmoid = torch.sigmoid(x)
        return grad * (sigmoid + x * sigmoid * (1 - sigmoid))


class Quantize(Function):
    """Round to a grid; the gradient passes straight through where the value was not clipped."""

    @staticmethod
    def forward(ctx, weight, levels):
        ctx.save_for_backward(weight.abs() <= 1)
        return (weight.clamp(-1, 1) * levels).round() / levels

    @staticmethod
    def backward(ctx, grad):
        (inside,) = ctx.saved_tensors
        return grad * inside, None


class SquaredSum(Function):
    """Sum of squares over the last dimension, with all that torch.func asks for: setup_context, vmap and jvp."""

    @staticmethod
    def forward(x):
        return (x * x).sum(-1)

    @staticmethod
    def setup_context(ctx, inputs, output):
        (x,) = inputs
        ctx.save_for_backward(x)
        ctx.save_for_forward(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad.unsqueeze(-1)

    @staticmethod
    def jvp(ctx, tangent):
        (x,) = ctx.saved_tensors
        return 2 * (x * tangent).sum(-1)

    @staticmethod
    def vmap(info, in_dims, x):
        return SquaredSum.apply(x.movedim(in_dims[0], 0)), 0


class QuantizedLinear(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outside, inside) / inside**0.5)
        self.bias = nn.Parameter(torch.zeros(outside))

    def forward(self, x):
        return nn.functional.linear(x, Quantize.apply(self.weight, 8), self.bias)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = QuantizedLinear(4, 32)
        self.second = QuantizedLinear(32, 4)

    def forward(self, x):
        return self.second(Swish.apply(self.first(x)))


def main():
    torch.manual_seed(99)
    torch.set_num_threads(1)
    model = Network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    inputs = torch.randn(64, 4)
    targets = inputs.flip(1).sin()
    for step in range(STEPS):
        loss = SquaredSum.apply(model(inputs) - targets).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 5 == 4:
            print(f"step {step} loss {loss.item():.6f}")

    slopes = torch.func.vmap(torch.func.grad(SquaredSum.apply))(inputs)
    _, change = torch.func.jvp(SquaredSum.apply, (inputs,), (torch.ones_like(inputs),))
    print(f"slopes {slopes.norm().item():.6f} change {change.sum().item():.6f}")
    print(f"final loss {loss.item():.9f}")


if __name__ == "__main__":
    main()
