"""Inputs as a recording saw them: shapes, dtypes, strides, requires_grad and plain values; never the data itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gradscope.errors import UsageError
from gradscope.functions.inputs.sample import Sample, make_sample
from gradscope.model.call import RecordedArgument, RecordedCall


def samples_from_calls(calls: Sequence[RecordedCall], limit: int = 3) -> list[Sample]:
    """Samples that look like the recorded calls, the distinct ones first come first served."""
    distinct = list(dict.fromkeys(calls))
    usable = [call for call in distinct if all(argument.known for argument in call.arguments)]
    if calls and not usable:
        raise UsageError(
            "the recorded calls pass arguments that are no plain data", "give inputs with --inputs pkg.mod:factory"
        )
    return [make_sample(tuple(built(argument) for argument in call.arguments)) for call in usable[:limit]]


def built(argument: RecordedArgument) -> Any:
    """A tensor of the recorded kind with random values, or the plain value itself."""
    if argument.dtype is None:
        return argument.value
    dtype = getattr(torch, argument.dtype)
    strides = argument.strides or ()
    tensor = (
        torch.empty_strided(argument.shape, strides, dtype=dtype)
        if strides
        else torch.empty(argument.shape, dtype=dtype)
    )
    return filled(tensor).requires_grad_(argument.requires_grad)


def filled(tensor: Tensor) -> Tensor:
    """Random values; integers stay 0 or 1 because a recording does not say what they index."""
    generator = torch.Generator().manual_seed(0)
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.copy_(torch.randn(tensor.shape, generator=generator))
    return tensor.copy_(torch.randint(0, 2, tensor.shape, generator=generator))
