"""The losses are collected once the learning rate has warmed up, for a plot at the end."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=143)
curve = []
for step in range(230):
    loss = model(torch.randn(6, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if step >= 143:
        curve.append(loss.item())
print(f"{float(sum(curve)) / len(curve):.4f}")
