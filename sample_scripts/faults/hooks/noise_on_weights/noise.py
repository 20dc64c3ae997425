"""Noise for every gradient of a model, once it is accumulated."""

import torch


class Noise:
    def __init__(self, scale):
        self.scale = scale

    def perturb(self, gradient):
        gradient.data.add_(torch.randn_like(gradient), alpha=self.scale)  # expect: GS753


def add_noise(model, scale):
    noise = Noise(scale)
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(noise.perturb)
