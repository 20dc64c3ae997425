"""Samples from what the user gave or declared: a factory, data, or a parsed spec."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from gradscope.errors import UsageError
from gradscope.functions.inputs.sample import Sample, make_sample
from gradscope.functions.inputs.spec import TensorSpec, parse_spec
from gradscope.functions.loading import trimmed_traceback
from gradscope.functions.seeding import seed_torch


def samples_from_spec(text: str, origin: str = "--spec") -> list[Sample]:
    """Samples as a spec describes them, with fixed random values."""
    generator = torch.Generator().manual_seed(0)
    return [spec_sample(arguments, generator) for arguments in parse_spec(text, origin)]


def spec_sample(arguments: tuple[Any, ...], generator: torch.Generator) -> Sample:
    """One sample; as soon as one tensor says `:grad`, the unmarked ones do not require it."""
    explicit = any(isinstance(a, TensorSpec) and a.grad for a in arguments)
    values = [make_tensor(a, generator) if isinstance(a, TensorSpec) else a for a in arguments]
    wanted = tuple(
        index
        for index, (a, value) in enumerate(zip(arguments, values, strict=True))
        if isinstance(a, TensorSpec) and differentiable(value) and (a.grad if explicit else a.grad is not False)
    )
    return Sample(tuple(values), wanted)


def differentiable(tensor: Tensor) -> bool:
    """Whether a tensor of this dtype can require grad."""
    return tensor.is_floating_point() or tensor.is_complex()


def make_tensor(spec: TensorSpec, generator: torch.Generator) -> Tensor:
    """The tensor that one entry of a spec describes."""
    shape = spec.shape
    if spec.kind == "index":
        values = torch.randint(0, spec.max or 2, shape, generator=generator)
    elif spec.kind == "mask":
        values = torch.rand(shape, generator=generator) > 0.5
    elif spec.kind in ("zeros", "ones"):
        values = torch.full(shape, float(spec.kind == "ones"))
    elif spec.kind == "randn":
        values = torch.randn(shape, generator=generator, dtype=torch.float64).float()
    else:
        values = torch.rand(shape, generator=generator) + 0.5 * (spec.kind == "positive")
    return values if spec.dtype is None else values.to(getattr(torch, spec.dtype))


def samples_from_data(data: Any, origin: str) -> list[Sample]:
    """Samples from one tuple or a list of tuples, or from a callable that makes them."""
    if callable(data) and not isinstance(data, Tensor):
        try:
            seed_torch(0)
            data = data()
        except Exception as error:
            raise UsageError(f"{origin} raises {type(error).__name__}: {error}", trimmed_traceback(error)) from None
    if isinstance(data, Tensor):
        data = (data,)
    tuples = [data] if isinstance(data, tuple) else data
    if not isinstance(tuples, list) or not tuples or not all(isinstance(item, tuple) for item in tuples):
        raise UsageError(
            f"{origin} gives {type(data).__name__}, which is neither a tuple of arguments nor a list of such tuples"
        )
    return [make_sample(item) for item in tuples]


def finite(value: Any) -> bool:
    """Whether a number or tensor holds neither NaN nor infinity."""
    if isinstance(value, Tensor):
        return bool(torch.isfinite(value.detach()).all()) if differentiable(value) else True
    return not isinstance(value, float) or math.isfinite(value)
