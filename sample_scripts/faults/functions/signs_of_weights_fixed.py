"""Binary weights: forward clips before it takes the sign, and so does backward.

As in https://github.com/microsoft/nni/pull/3160.
"""

import torch
from torch import nn


class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weight):
        ctx.save_for_backward(weight)
        return torch.sign(weight.clip(-1, 1) + 1e-8)

    @staticmethod
    def backward(ctx, g):
        (weight,) = ctx.saved_tensors
        return g * (weight.abs() <= 1)


torch.manual_seed(0)
weight = nn.Parameter(torch.randn(6, 2))
optimizer = torch.optim.SGD([weight], lr=0.05)
for _ in range(20):
    x = torch.randn(12, 6)
    loss = nn.functional.cross_entropy(x @ Binary.apply(weight), (x[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
