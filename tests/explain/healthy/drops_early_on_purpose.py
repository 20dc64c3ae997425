"""A schedule that is stepped for each batch, and drops at half of the run; parameters begin as copies of others."""

import torch
from torch import nn

torch.manual_seed(0)
model, other = nn.Linear(3, 1), nn.Linear(3, 1)
other.weight = nn.Parameter(model.weight.detach().clone())
optimizer = torch.optim.SGD([*model.parameters(), *other.parameters()], lr=0.05)
schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[40], gamma=0.1)
for _ in range(80):
    x = torch.randn(8, 3)
    loss = (model(x) + other(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
print("done")
