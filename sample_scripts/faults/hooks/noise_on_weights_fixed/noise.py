"""Noise for every gradient of a model, once it is accumulated."""

import torch


class Noise:
    def __init__(self, scale):
        self.scale = scale

    def perturb(self, parameter):
        parameter.grad.add_(torch.randn_like(parameter), alpha=self.scale)


def add_noise(model, scale):
    noise = Noise(scale)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(noise.perturb)
