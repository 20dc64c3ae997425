"""Gradients of each sample's loss with a custom Function that gets the weights as an argument."""

import torch
from torch.func import grad, vmap


class Linear(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, weight):
        return x @ weight

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight.T, torch.outer(x, gradient)


def loss(parameters, x, y):
    return (Linear.apply(x, parameters["weight"]) - y).square().sum()


torch.manual_seed(0)
parameters = {"weight": torch.randn(3, 2)}
xs, ys = torch.randn(4, 3), torch.randn(4, 2)
per_sample = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, xs, ys)
print(per_sample["weight"].shape)
