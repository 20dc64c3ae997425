"""Noise under vmap."""

import torch
from torch.func import vmap


def noisy(sample):
    return sample + torch.randn(3)


print(vmap(noisy, randomness="different")(torch.ones(4, 3)).shape)
