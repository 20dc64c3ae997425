"""Schedules that never come to an end: a factor for each step, and one over its root."""

import torch
from torch import nn

torch.manual_seed(0)
model, other = nn.Linear(3, 1), nn.Linear(3, 1)
first, second = torch.optim.SGD(model.parameters(), lr=0.1), torch.optim.SGD(other.parameters(), lr=0.1)
schedules = [
    torch.optim.lr_scheduler.ExponentialLR(first, 0.98),
    torch.optim.lr_scheduler.LambdaLR(second, lambda step: (step + 1) ** -0.25),
]
for _ in range(40):
    x = torch.randn(8, 3)
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean() + (other(x) - x[:, :1]).square().mean()
    for optimizer in (first, second):
        optimizer.zero_grad()
    loss.backward()
    for optimizer in (first, second):
        optimizer.step()
    for schedule in schedules:
        schedule.step()
print("done")
