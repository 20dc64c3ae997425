"""A deep network, started as its activation asks for."""

import torch
from torch import nn

torch.manual_seed(0)
width = 32
layers = nn.ModuleList(nn.Linear(width, width) for _ in range(10))
head = nn.Linear(width, 1)
for layer in layers:
    nn.init.kaiming_normal_(layer.weight)
model = nn.ModuleList([*layers, head])
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
for step in range(6):
    x = torch.randn(16, width)
    h = x
    for layer in layers:
        h = torch.relu(layer(h))
    loss = (head(h) - x[:, :1]).square().mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    print(step, loss.item())
