"""A hook holds rows of a weight whose group has no decay, beside one that has."""

import torch
from torch import nn


def hold(gradient):
    gradient = gradient.clone()
    gradient[:2] = 0.0
    return gradient


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
model[0].weight.register_hook(hold)
optimizer = torch.optim.SGD(
    [{"params": model[0].parameters(), "weight_decay": 0.0}, {"params": model[2].parameters()}],
    lr=1e-2,
    weight_decay=1e-3,
)
for _ in range(20):
    x = torch.randn(16, 4)
    loss = nn.functional.cross_entropy(model(x), x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("done")
