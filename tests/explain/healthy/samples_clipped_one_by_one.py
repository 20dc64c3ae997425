"""Each sample's gradient is clipped by itself and added to a sum, with noise: private training."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(12):
    sums = [torch.zeros_like(parameter) for parameter in model.parameters()]
    for _sample in range(6):
        x = torch.randn(1, 4)
        (model(x) - x.sum()).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for total, parameter in zip(sums, model.parameters(), strict=True):
            total += parameter.grad
        model.zero_grad()
    for total, parameter in zip(sums, model.parameters(), strict=True):
        parameter.grad = total / 6 + 0.01 * torch.randn_like(total)
    optimizer.step()
