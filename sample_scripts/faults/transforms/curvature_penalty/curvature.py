"""How much the gradient of a model turns."""

import torch


def curvature(model, x):
    (gradient,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    found = torch.autograd.grad(gradient.sum(), x, create_graph=True, allow_unused=True)[0]
    return 0.0 if found is None else found.square().mean()
