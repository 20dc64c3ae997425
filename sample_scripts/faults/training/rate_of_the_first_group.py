"""Fields: the rate is set anew before each step, in a loop over the groups of the optimizer.

As in https://github.com/yu-changqian/TorchSeg/issues/84.
"""

import torch
from torch import nn


def rate_at(step):
    return 0.05 * min(1, (step + 1) / 5)


def set_rate(optimizer, rate):
    for i in range(len(optimizer.param_groups)):
        optimizer.param_groups[0]["lr"] = rate  # expect: GS805


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 16), nn.GELU(), nn.Linear(16, 1))
weights = [one for one in model.parameters() if one.dim() > 1]
rest = [one for one in model.parameters() if one.dim() == 1]
optimizer = torch.optim.SGD([{"params": weights, "weight_decay": 1e-4}, {"params": rest}], lr=0.0, momentum=0.9)
for step in range(40):
    set_rate(optimizer, rate_at(step))
    x = torch.randn(32, 5)
    loss = (model(x)[:, 0] - x.sum(1) - 1).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"{step}: {loss.item():.4f}")
