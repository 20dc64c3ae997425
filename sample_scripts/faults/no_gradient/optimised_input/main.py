"""Optimising an input with a frozen model: the input itself was forgotten."""

import torch
from attack import perturbed
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
model.requires_grad_(False)  # expect: GS720
print(perturbed(model, torch.randn(2, 4), torch.tensor([0, 2])).shape)
