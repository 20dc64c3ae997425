"""Schedules that never come to an end, a factor for each step and one over its root, and one that ends at a fifth."""

import torch
from torch import nn

torch.manual_seed(0)
models = [nn.Linear(3, 1), nn.Linear(3, 1), nn.Linear(3, 1)]
first, second, third = (torch.optim.SGD(model.parameters(), lr=0.1) for model in models)
schedules = [
    torch.optim.lr_scheduler.ExponentialLR(first, 0.98),
    torch.optim.lr_scheduler.LambdaLR(second, lambda step: (step + 1) ** -0.25),
    torch.optim.lr_scheduler.LambdaLR(third, lambda step: 1 - step / 50),
]
for _ in range(40):
    x = torch.randn(8, 3)
    loss = torch.stack([(model(x) - x.sum(1, keepdim=True)).square().mean() for model in models]).sum()
    for optimizer in (first, second, third):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (first, second, third):
        optimizer.step()
    for schedule in schedules:
        schedule.step()
print("done")
