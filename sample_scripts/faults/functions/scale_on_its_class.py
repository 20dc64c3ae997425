"""A custom Function that hands tensors from its forward to its backward on its class; the network uses it twice."""

import torch
from torch import nn


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        Scale.kept = (x, weight)  # expect: GS228
        return x * weight

    @staticmethod
    def backward(ctx, gradient):
        x, weight = Scale.kept
        return gradient * weight, (gradient * x).sum(0)


torch.manual_seed(0)
first, second = nn.Parameter(torch.randn(4)), nn.Parameter(torch.randn(4))
optimizer = torch.optim.SGD([first, second], lr=0.1)
for step in range(5):
    x = torch.randn(8, 4)
    hidden = Scale.apply(x, first).tanh()
    loss = (Scale.apply(hidden, second) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()  # expect: GS228 fails_at
    optimizer.step()
    print(step, loss.item())
