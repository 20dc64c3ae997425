"""Prices that may not be negative, clamped where they are used.

As in https://github.com/pytorch/pytorch/issues/97452.
"""

import torch
from torch import nn


class Mix(nn.Module):
    def __init__(self, inputs):
        super().__init__()
        self.mix = nn.Parameter(0.3 * torch.rand(inputs) + 0.05)
        self.base = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        return x @ self.mix.exp() + self.base


torch.manual_seed(0)
true = torch.rand(16) * (torch.arange(16) % 2)
model = Mix(16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.08)
for _ in range(40):
    x = torch.rand(16, 16) * 2
    loss = (model(x) - x @ true - 0.3).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
