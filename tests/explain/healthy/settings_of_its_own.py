"""A program whose settings have an attribute that is nearly requires_grad, and that goes on in a dict."""

from types import SimpleNamespace

import torch
from torch import nn


def build(require_grad):
    return nn.Linear(4, 1).requires_grad_(require_grad)


torch.manual_seed(0)
settings = SimpleNamespace()
settings.require_grad = True
model = build(**vars(settings))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(6):
    optimizer.zero_grad()
    model(torch.randn(5, 4)).square().mean().backward()
    optimizer.step()
