"""Gradients of a loss with respect to several layers."""

import torch


def layer_gradients(loss, *layers):
    return [torch.autograd.grad(loss, layer, retain_graph=True)[0] for layer in layers]
