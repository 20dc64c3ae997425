"""Rates of a queue: the raw ones go through torch.relu before they are summed.

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
        return x @ torch.relu(self.mix) + self.base  # expect: GS877


torch.manual_seed(0)
true = torch.rand(32) * (torch.arange(32) % 2)
model = Mix(32)
optimizer = torch.optim.SGD(model.parameters(), lr=0.06)
for _ in range(40):
    x = torch.rand(16, 32) * 2
    loss = (model(x) - x @ true - 0.3).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{loss.item():.3f}")
