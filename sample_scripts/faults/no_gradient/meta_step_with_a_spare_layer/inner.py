"""One step of gradient descent that keeps its graph."""

import torch


def adapt(learner, loss, rate):
    parameters = list(learner.parameters())
    gradients = torch.autograd.grad(loss, parameters, create_graph=True)  # expect: GS729 fails_at
    return [p - rate * g for p, g in zip(parameters, gradients, strict=True)]
