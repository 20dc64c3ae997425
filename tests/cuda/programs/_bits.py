"""Arithmetic that repeats itself to the bit, and what tells bits apart."""

import hashlib
import os

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # read when the first matrix product begins

import torch

torch.use_deterministic_algorithms(True)
torch.backends.cudnn.benchmark = False


def bits(*tensors):
    """A digest of values, types and layouts."""
    text = hashlib.sha256()
    for one in tensors:
        text.update(f"{one.dtype} {tuple(one.shape)} {one.stride()} {one.device}".encode())
        text.update(one.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return text.hexdigest()[:16]


def state(model):
    """A digest of a model's parameters and gradients."""
    return bits(*(one for each in model.parameters() for one in (each, each.grad) if one is not None))
