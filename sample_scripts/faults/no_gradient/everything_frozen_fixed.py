"""Every parameter is frozen before fine-tuning, and nothing is thawed."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
for parameter in model.parameters():
    parameter.requires_grad = False
model[2].requires_grad_(True)
loss = model(torch.randn(3, 4)).sum()
loss.backward()
