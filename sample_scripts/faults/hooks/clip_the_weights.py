"""Gradient clipping in a post-accumulate hook that clips what it gets."""

import torch
from torch import nn


def clip(gradient):
    gradient.clamp_(-0.1, 0.1)  # expect: GS753


torch.manual_seed(0)
model = nn.Linear(3, 2)
for parameter in model.parameters():
    parameter.register_post_accumulate_grad_hook(clip)  # expect: GS753 registered_at
model(torch.randn(4, 3)).square().sum().backward()
print(model.weight.abs().max() < 10)
