"""The fast gradient sign method."""

from torch import nn


def perturbed(model, x, y, size=0.1):
    x = x.clone()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()  # expect: GS720 fails_at
    return (x + size * x.grad.sign()).detach()
