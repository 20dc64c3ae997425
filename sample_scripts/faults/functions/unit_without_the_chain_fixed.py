"""A smooth unit with a derivative of its own, between two layers.

As in https://github.com/pytorch/pytorch/issues/4355.
"""

import torch
from torch import nn


class Unit(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale = torch.rsqrt(1 + x * x)
        ctx.save_for_backward(scale)
        return x * scale

    @staticmethod
    def backward(ctx, grad_output):
        (scale,) = ctx.saved_tensors
        slope = scale**3
        return grad_output * slope


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(8, 24), nn.Linear(24, 3)

    def forward(self, x):
        return self.last(Unit.apply(self.first(x)))


def main():
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    target = torch.randn(8, 3)
    for step in range(40):
        x = torch.randn(32, 8)
        loss = nn.functional.cross_entropy(net(x), (x @ target).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"{step}: {loss.item():.4f}")


main()
