"""Gradients of a loss with respect to several layers."""

import torch


def layer_gradients(loss, *layers):
    return torch.autograd.grad(loss, layers, retain_graph=True)  # expect: GS755
