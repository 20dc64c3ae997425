"""Angles between directions."""

import torch
from torch.nn.functional import normalize


def angle_between(a, b):
    cosine = (normalize(a, dim=-1) * normalize(b, dim=-1)).sum(-1)
    return torch.acos(cosine.clamp(-1 + 1e-6, 1 - 1e-6))
