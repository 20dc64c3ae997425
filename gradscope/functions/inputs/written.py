"""Samples in the words of `--spec`, as far as these can say them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from gradscope.functions.inputs.sample import Sample


def spec_of(samples: Sequence[Sample]) -> str:
    """The spec of some samples, or nothing where an argument cannot be said."""
    written = [written_sample(sample) for sample in samples]
    return "; ".join(text for text in written if text) if all(written) else ""


def written_sample(sample: Sample) -> str | None:
    """The arguments of one sample."""
    floating = {i for i in sample.tensors if sample.args[i].is_floating_point()}
    marks = set(sample.differentiable) != floating
    parts = [
        written_tensor(value, marks and place in sample.differentiable) if isinstance(value, Tensor) else literal(value)
        for place, value in enumerate(sample.args)
    ]
    return None if None in parts else ", ".join(part for part in parts if part is not None)


def written_tensor(value: Tensor, marked: bool) -> str | None:
    """A tensor by its kind, shape and dtype; the values are others of that kind."""
    entries = [str(size) for size in value.shape]
    if value.is_complex() or value.layout is not torch.strided:
        return None
    if value.dtype is torch.bool:
        return f"mask({', '.join(entries)})"
    if not value.is_floating_point():
        largest = int(value.max()) if value.numel() else 0
        return f"index({', '.join([*entries, f'max={largest + 1}'])})"
    kind = "positive" if bool((value > 0).all()) else "randn"
    narrow = [f"dtype={str(value.dtype).removeprefix('torch.')}"] * (value.dtype is not torch.float32)
    return f"{kind}({', '.join([*entries, *narrow])})" + ":grad" * marked


def literal(value: Any) -> str | None:
    """A plain value."""
    if isinstance(value, str):
        return None if "'" in value else f"'{value}'"
    if isinstance(value, list) and all(literal(one) is not None for one in value):
        return f"[{', '.join(str(literal(one)) for one in value)}]"
    return repr(value) if value is None or type(value) in (bool, int, float) else None
