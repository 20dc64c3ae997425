"""Activations of four bits over a fixed range: what is above it is pushed on by the loss.

As in https://github.com/microsoft/nni/pull/3160.
"""

import torch
from torch import nn


class FourBits(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, upper):
        step = upper / 15
        kept = FourBits.cut(x, upper)
        return torch.round(kept / step) * step

    @staticmethod
    def cut(x, upper):
        return torch.clamp(x, 0.0, upper)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output, None  # expect: GS876


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.last = nn.Linear(3, 8), nn.Linear(8, 1)

    def forward(self, x):
        return self.last(FourBits.apply(self.first(x), 1.0))


def main():
    torch.manual_seed(0)
    model = Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(20):
        x = torch.randn(16, 3)
        loss = (model(x) - x.abs().sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.3f}")


main()
