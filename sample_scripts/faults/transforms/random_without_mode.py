"""Noise under vmap."""

import torch
from torch.func import vmap


def noisy(sample):
    return sample + torch.randn(3)  # expect: GS312


print(vmap(noisy)(torch.ones(4, 3)).shape)
