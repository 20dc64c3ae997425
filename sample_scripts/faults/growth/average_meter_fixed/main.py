"""A meter in a helper file sums the losses."""

import torch
from meter import Meter
from torch import nn

torch.manual_seed(0)
model, meter = nn.Linear(3, 2), Meter()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(12):
    loss = model(torch.randn(2, 3)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    meter.update(loss.item(), 2)
print(f"{float(meter.sum / meter.count):.3f}")
