"""A sample: one tuple of arguments. Trials never touch it; each takes fresh copies.

The surprise: a tensor may sit inside a list or tuple, and a copy keeps strides, because strides are tried, too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor


@dataclass(frozen=True)
class Sample:
    """One tuple of arguments for `apply`. `differentiable` are the positions of tensors that require grad, `guess` is
    the number of the guess that it was, and `origin` names the call sites that gave values for it.
    """

    args: tuple[Any, ...]
    differentiable: tuple[int, ...]
    guess: int | None = None
    origin: str = ""

    @property
    def tensors(self) -> tuple[int, ...]:
        """The positions of all tensors."""
        return tuple(i for i, value in enumerate(self.args) if isinstance(value, Tensor))

    def on(self, device: str) -> Sample:
        """The sample with all its tensors on a device, requiring grad as they did."""
        if device == "cpu":
            return self

        def moved(tensor: Tensor) -> Tensor:
            return tensor.detach().to(device).requires_grad_(tensor.requires_grad)

        return replace(self, args=tuple(map_tensors(value, moved) for value in self.args))

    def symmetric_at(self, positions: tuple[int, ...]) -> Sample:
        """The sample with the matrices at these positions made symmetric."""
        args = list(self.args)
        for position in positions:
            matrix = args[position].detach()
            args[position] = ((matrix + matrix.mT) / 2).requires_grad_(args[position].requires_grad)
        return replace(self, args=tuple(args))

    def __str__(self) -> str:
        shown = "(" + ", ".join(describe(value) for value in self.args) + ")"
        return f"{shown} as called in {self.origin}" if self.origin else shown

    def fresh(self, dtype: torch.dtype | None = None, grad: bool = True) -> list[Any]:
        """Copies of the arguments: new leaves, requiring grad where the sample says so, or (grad=False) nowhere."""
        nested = marked_copy if grad else copied
        values = [
            copied(value, dtype) if isinstance(value, Tensor) else map_tensors(value, lambda t: nested(t, dtype))
            for value in self.args
        ]
        for index in self.differentiable if grad else ():
            values[index].requires_grad_()
        return values


def make_sample(args: tuple[Any, ...]) -> Sample:
    """A sample from arguments; when none is marked as requiring grad, every dense floating tensor is taken to."""
    marked = [i for i, v in enumerate(args) if isinstance(v, Tensor) and v.requires_grad]
    nested = any(t.requires_grad for v in args if not isinstance(v, Tensor) for t in tensors_in(v))
    dense = {i: v for i, v in enumerate(args) if isinstance(v, Tensor) and v.layout is torch.strided}
    floating = [i for i, v in dense.items() if v.is_floating_point() or v.is_complex()]
    return Sample(args, tuple(marked or ([] if nested else floating)))


def copied(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A detached copy with the same strides, in another floating type if asked."""
    with torch.no_grad():
        copy = tensor.detach().clone()
        if dtype is not None and copy.is_floating_point():
            copy = copy.to(dtype)
        elif dtype is torch.float64 and copy.is_complex():
            copy = copy.to(torch.complex128)
    return copy.detach()


def marked_copy(tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
    """A copy that requires grad if the tensor, a leaf, does: not for use under a transform, which refuses that."""
    copy = copied(tensor, dtype)
    return copy.requires_grad_() if tensor.requires_grad and tensor.is_leaf else copy


def map_tensors(value: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """The value with every tensor in it changed, through lists, tuples and dicts."""
    if isinstance(value, Tensor):
        return change(value)
    if isinstance(value, dict):
        return {key: map_tensors(item, change) for key, item in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(map_tensors(item, change) for item in value))
    if type(value) in (list, tuple):
        return type(value)(map_tensors(item, change) for item in value)
    return value


def tensors_in(value: Any) -> list[Tensor]:
    """All tensors in a value, through containers."""
    found: list[Tensor] = []

    def note(tensor: Tensor) -> Tensor:
        found.append(tensor)
        return tensor

    map_tensors(value, note)
    return found


def describe(value: Any) -> str:
    """`float32[3, 4]` for a tensor, a short repr for the rest."""
    if isinstance(value, Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    text = repr(value) if not tensors_in(value) else type(value).__name__ + " of tensors"
    return text if len(text) <= 40 else text[:37] + "..."
