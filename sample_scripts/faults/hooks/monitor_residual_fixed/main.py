"""Train a residual network with a monitor on every linear layer."""

import torch
from blocks import Residual
from monitor import Monitor
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(Residual(4), Residual(4), nn.Linear(4, 1))
monitor = Monitor(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for batch in torch.utils.data.DataLoader(torch.randn(8, 4), batch_size=4):
    optimizer.zero_grad()
    model(batch).square().mean().backward()
    optimizer.step()
print(len(monitor.norms))
