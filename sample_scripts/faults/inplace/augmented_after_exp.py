"""A loss whose exponential is shifted in place."""

import torch


def energy(x):
    h = torch.exp(x)  # expect: GS701 saved_at
    h += 1  # expect: GS701
    return h.sum()


x = torch.linspace(-1, 1, 5, requires_grad=True)
energy(x).backward()  # expect: GS701 fails_at
print(x.grad)
