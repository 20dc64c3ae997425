"""Adam's eps of 1e-8 is zero in float16, and some gradients are as small: the first step divides by zero."""

# as in https://github.com/pytorch/pytorch/issues/8860
import argparse

import torch
from torch import nn


def optimizer_of(model, options):
    return torch.optim.Adam(model.parameters(), lr=options.lr)  # expect: GS730


options = argparse.Namespace(lr=1e-3)
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 1)).half()
optimizer = optimizer_of(model, options)
for step in range(6):
    x = torch.randn(16, 8).half()
    loss = (model(x).float() - x.float().mean(1, keepdim=True)).square().mean() * 1e-3
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()  # expect: GS730 called_at
