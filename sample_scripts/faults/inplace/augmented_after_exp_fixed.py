"""A loss whose exponential is shifted in place."""

import torch


def energy(x):
    h = torch.exp(x)
    h = h + 1
    return h.sum()


x = torch.linspace(-1, 1, 5, requires_grad=True)
energy(x).backward()
print(x.grad)
