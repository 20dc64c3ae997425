"""Hooks that weigh a gradient and hold rows of another, under SGD without decay: both do what they say."""

import torch
from torch import nn


def hold(gradient):
    gradient = gradient.clone()
    gradient[:2] = 0.0
    return gradient


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
model[0].weight.register_hook(hold)
model[2].weight.register_hook(lambda gradient: gradient * 3.0)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2, weight_decay=0.0)
for _ in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
