"""The equation u'' = -u."""

import torch


def derivative(u, t):
    return torch.autograd.grad(u.sum(), t)[0]  # expect: GS772


def residual(net, t):
    u = net(t)
    return derivative(derivative(u, t), t) + u
