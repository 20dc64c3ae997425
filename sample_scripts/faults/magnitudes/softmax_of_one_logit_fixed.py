"""A binary classifier with one output and a softmax: the probability is always 1."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters())
x = torch.randn(16, 3)
y = (x.sum(1, keepdim=True) > 0).float()
for step in range(4):
    p = torch.sigmoid(model(x))
    loss = nn.functional.binary_cross_entropy(p, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(step, loss.item())
