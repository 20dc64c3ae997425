"""How exactly a forward computes, found by nudging its inputs.

The surprise: the dtype of the outputs does not say it. Normalisations and losses often compute in float32 whatever
they are given and cast back, so that double precision inputs give double precision outputs full of float32 noise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Tensors = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Precision:
    """The step of central differences, the relative and absolute tolerance that values are compared with, and the
    relative size of rounding errors.
    """

    step: float
    relative: float
    absolute: float
    rounding: float


EXACT = Precision(1e-6, 1e-4, 1e-6, 2e-16)
SINGLE = Precision(4e-3, 1e-3, 1e-4, 1e-7)
HALF = Precision(1e-1, 5e-2, 1e-2, 8e-3)
NOTICED = 0.25  # of the outputs' elements that a nudge above the spacing must change
UNSEEN, SEEN_SINGLE, SEEN_HALF = 1e-12, 1e-5, 5e-2  # nudges below the spacing of float32; above it; above bfloat16's


def precision_of(function: Callable[..., Tensors], inputs: Tensors) -> Precision:
    """The precision of the coarsest cast that any input goes through."""
    return max((precision_in(function, inputs, i) for i in range(len(inputs))), key=lambda p: p.step, default=EXACT)


def precision_in(function: Callable[..., Tensors], inputs: Tensors, index: int) -> Precision:
    """The precision with respect to one input: a double precision forward notices the smallest nudge."""
    before = function(*inputs)
    if not same(before, function(*nudged(inputs, index, UNSEEN))):
        return EXACT
    half = all(fits(o, torch.float16) or fits(o, torch.bfloat16) for o in before)
    after = function(*nudged(inputs, index, SEEN_HALF if half else SEEN_SINGLE))
    if changed_share(before, after) < NOTICED:
        return EXACT  # rounding to far fewer values than any type has: a step function, not a cast
    return HALF if half else SINGLE


def nudged(inputs: Tensors, index: int, size: float) -> Tensors:
    """The inputs with every element of one of them moved by a share of its own size."""
    chosen = inputs[index]
    shares = torch.arange(chosen.numel(), device=chosen.device).double().mul(1.7).sin().add(1.5).reshape(chosen.shape)
    return (*inputs[:index], chosen * (1 + size * shares), *inputs[index + 1 :])


def changed_share(left: Tensors, right: Tensors) -> float:
    """Which share of the elements of two lists of outputs differs."""
    total = sum(output.numel() for output in left)
    different = sum(int((a != b).sum()) for a, b in zip(left, right, strict=True) if a.shape == b.shape)
    return different / total if total else 0.0


def same(left: Tensors, right: Tensors) -> bool:
    """Whether two lists of outputs are equal to the last bit."""
    return len(left) == len(right) and all(map(torch.equal, left, right))


def fits(tensor: Tensor, dtype: torch.dtype) -> bool:
    """Whether a narrower type holds the very same values."""
    return not tensor.is_complex() and torch.equal(tensor.to(dtype).to(tensor.dtype), tensor)
