"""The statistics of a gradient, as numbers: nothing of it is kept.

The surprise: what costs is to fetch a large gradient from memory, so it is read in stretches, each of which stays in
the processor's cache until all is known of it.
"""

from __future__ import annotations

import math
import threading

import torch

from gradscope.torch_internals.tensors import is_wrapped

Statistics = tuple[float, float, float, int, int]  # norm, largest magnitude, zero share, NaN and Inf count

WIDTH = 5
_LARGE = 32_768  # elements
_STRETCH = 131_072

_vector_norm = torch.linalg.vector_norm


def has_values(gradient: object) -> bool:
    """Whether there are plain values to look at."""
    if type(gradient) is not torch.Tensor and type(gradient) is not torch.nn.Parameter:
        return False
    return not (gradient.layout is not torch.strided or gradient.is_meta or gradient.is_nested or is_wrapped(gradient))


def statistics_of(gradient: torch.Tensor) -> Statistics | None:
    """Norm, largest magnitude, zero share, NaN and Inf count; None for what has no plain values to look at."""
    if not has_values(gradient):
        return None
    count = gradient.numel()
    if count == 0:
        return 0.0, 0.0, 0.0, 0, 0
    if gradient.data_ptr() == 0:
        return None  # no memory: a zero tensor of forward mode, a storage given back
    values = gradient.abs() if gradient.is_complex() else gradient
    if count >= _LARGE and values.dtype is torch.float32 and values.is_cpu and is_dense(values):
        return _in_stretches(values) or _of_all_kinds(values.double())
    norm = _vector_norm(values).item()
    if not math.isfinite(norm):
        return _of_all_kinds(values.double())
    least, most = torch.aminmax(values)
    zeros = count - int(torch.count_nonzero(values).item())
    return norm, max(abs(least.item()), abs(most.item())), zeros / count, 0, 0


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether a tensor's elements are all that lies between its first and its last, in whatever order."""
    if tensor.is_contiguous():
        return True
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


class _Scratch(threading.local):
    """Room for the magnitudes of a stretch, for each thread."""

    def __init__(self) -> None:
        self.room = torch.empty(_STRETCH, dtype=torch.float32, device="cpu")


_scratch = _Scratch()


def _in_stretches(values: torch.Tensor) -> Statistics | None:
    """The same of a large dense tensor; None when its norm is not finite."""
    count, zeros, squares, most = values.numel(), 0, 0.0, 0.0
    for piece in values.as_strided((count,), (1,)).split(_STRETCH):
        magnitudes = torch.abs(piece, out=_scratch.room[: piece.numel()])
        squares += torch.dot(magnitudes, magnitudes).item()
        if not math.isfinite(squares):
            return None
        most = max(most, magnitudes.amax().item())
        if magnitudes.amin().item() == 0:  # counting them costs more than to see that there are none
            zeros += piece.numel() - int(torch.sign(magnitudes, out=magnitudes).sum().item())
    return math.sqrt(squares), most, zeros / count, 0, 0


def _of_all_kinds(values: torch.Tensor) -> Statistics:
    """The same, slowly, for a gradient with NaN or Inf in it, or whose norm overflows its dtype."""
    nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
    finite = torch.where(torch.isfinite(values), values, 0.0)
    zeros = values.numel() - int(torch.count_nonzero(values))
    return float(finite.norm()), float(finite.abs().max()), zeros / values.numel(), nan, inf
