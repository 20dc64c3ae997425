"""Quantized weights: rounding has the derivative 0."""

import torch
from torch import nn


class Quantized(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 1))
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        weight = torch.round(self.weight * 8) / 8  # expect: GS735
        return x @ weight + self.bias


torch.manual_seed(0)
model = Quantized()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(5):
    loss = (model(torch.randn(8, 4)) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
