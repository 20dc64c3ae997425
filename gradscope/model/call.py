"""A call of a custom Function as a recording keeps it: enough to make inputs of the same kind."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RecordedArgument:
    """A tensor's kind (dtype is set) or a plain value; `known` is False for an argument that is neither."""

    dtype: str | None = None
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] | None = None
    requires_grad: bool = False
    value: int | float | bool | str | tuple[object, ...] | None = None
    known: bool = True


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """The arguments of one `Function.apply`."""

    function: str
    arguments: tuple[RecordedArgument, ...]
