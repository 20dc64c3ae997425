"""Gradients of each sample's loss with a custom Function that reads the weights from around it."""

import torch
from torch.func import grad, vmap


class Linear(torch.autograd.Function):  # expect: GS221 class_at
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x @ weight  # expect: GS221

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, gradient):
        return gradient @ weight.T


def loss(parameters, x, y):
    global weight
    weight = parameters["weight"]
    return (Linear.apply(x) - y).square().sum()


torch.manual_seed(0)
parameters = {"weight": torch.randn(3, 2)}
xs, ys = torch.randn(4, 3), torch.randn(4, 2)
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, xs, ys)  # expect: GS221 cause_at
print(per_sample["weight"].shape)
