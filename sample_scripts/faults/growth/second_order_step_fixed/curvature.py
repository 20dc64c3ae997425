"""The norm of a Hessian-vector product with a vector of ones."""

import torch


def curvature(model, x):
    loss = model(x).pow(2).mean()
    parameters = list(model.parameters())
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)
    product = torch.autograd.grad(sum(g.sum() for g in gradients), parameters)
    return sum(p.square().sum().item() for p in product) ** 0.5
