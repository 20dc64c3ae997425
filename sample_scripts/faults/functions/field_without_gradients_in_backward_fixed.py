"""Points drift along a learnt field; backward computes each step again.

As in https://github.com/pytorch/pytorch/issues/45405.
"""

import torch
from torch import nn


class Drift(torch.autograd.Function):
    @staticmethod
    def forward(ctx, field, steps, start, *weights):
        path = [start]
        for _ in range(steps):
            path.append(path[-1] + 0.1 * field(path[-1]))
        ctx.field, ctx.weights = field, weights
        ctx.save_for_backward(*path)
        return path[-1].clone()

    @staticmethod
    def backward(ctx, gradient):
        found = [None] * len(ctx.weights)
        for point in reversed(ctx.saved_tensors[:-1]):
            point = point.detach().requires_grad_()
            with torch.enable_grad():
                moved = point + 0.1 * ctx.field(point)
            gradient, *parts = pulled_back(moved, [point, *ctx.weights], gradient)
            found = [added(one, part) for one, part in zip(found, parts, strict=True)]
        return None, None, gradient, *found


def added(one, other):
    return one if other is None else other if one is None else one + other


def pulled_back(value, inputs, gradient):
    """What reaches the inputs; as it came, where nothing is to be derived."""
    if value.grad_fn is None:
        return [gradient, *[None] * (len(inputs) - 1)]
    return torch.autograd.grad(value, inputs, gradient)


class Flow(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(2, 4)
        self.field = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 4))
        self.read = nn.Linear(4, 2)

    def forward(self, x):
        return self.read(Drift.apply(self.field, 4, self.lift(x), *self.field.parameters()))


def main(steps=40):
    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    model = Flow()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for step in range(steps):
        x = torch.randn(32, 2, generator=generator)
        loss = nn.functional.mse_loss(model(x), torch.sin(2 * x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 9:
            print(f"step {step} loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
