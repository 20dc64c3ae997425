"""A loss that is made of numbers again."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
x, y = torch.randn(8, 3), torch.randn(8, 1)
error = (model(x) - y).pow(2).mean()
loss = error * 2
loss.backward()
