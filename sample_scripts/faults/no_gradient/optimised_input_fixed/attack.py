"""The fast gradient sign method."""

from torch import nn


def perturbed(model, x, y, size=0.1):
    x = x.clone()
    x.requires_grad_(True)
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    return (x + size * x.grad.sign()).detach()
