"""Gradients accumulate over four batches; losses are logged as numbers."""

import torch
from torch import nn

torch.manual_seed(0)
m = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Dropout(0.1), nn.Linear(4, 1))
o = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.StepLR(o, 2)
total = 0.0
hist = []
for i in range(16):
    loss = m(torch.randn(4, 4)).pow(2).mean() / 4
    loss.backward()
    total += loss.item()
    hist.append(loss.detach())
    if i % 4 == 3:
        o.step()
        o.zero_grad()
        sched.step()
