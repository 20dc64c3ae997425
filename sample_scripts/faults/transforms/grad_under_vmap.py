"""The gradient of each sample by itself, for noise that hides it: autograd is asked for it under vmap.

As in https://github.com/pytorch/pytorch/issues/53445.
"""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
weights = dict(net.named_parameters())


def slopes(x, y):
    loss = (net(x) - y).square().sum()
    return torch.autograd.grad(loss, list(weights.values()))  # expect: GS721


def private_step(x, y, rate=0.05, most=1.0):
    each = torch.vmap(slopes)(x, y)
    sizes = torch.stack([one.flatten(1).norm(dim=1) for one in each]).norm(dim=0)
    shares = (most / sizes).clamp(max=1.0)
    with torch.no_grad():
        for weight, one in zip(weights.values(), each, strict=True):
            clipped = torch.einsum("n...,n->...", one, shares) / len(x)
            weight -= rate * (clipped + 0.01 * torch.randn_like(weight))


for _ in range(10):
    x = torch.randn(16, 3)
    private_step(x, x[:, :1] * 2)
