"""Tides of a harbour from the moon and the wind: a hook that is called clip_gradient clips the gradient.

As in https://github.com/pytorch/pytorch/pull/187339.
"""

import torch
from torch import nn


def clip_gradient(p):
    p.grad.clamp_(min=-0.2, max=0.2)


torch.manual_seed(0)
moon = torch.rand(200, 3) * 6.3
height = moon.sin().sum(1, keepdim=True) + 0.1 * torch.randn(200, 1)
harbour = nn.Sequential(nn.Linear(3, 16), nn.Tanh(), nn.Linear(16, 1))
for weight in harbour.parameters():
    weight.register_post_accumulate_grad_hook(clip_gradient)
optimizer = torch.optim.Adam(harbour.parameters(), lr=0.01)
for _ in range(12):
    seen = torch.randint(200, (32,))
    optimizer.zero_grad()
    nn.functional.mse_loss(harbour(moon[seen]), height[seen]).backward()
    optimizer.step()
