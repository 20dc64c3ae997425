"""What `trace --tensors` keeps of a backward so that it can run again: operator calls, and the memory they work on."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

from gradscope.model.tensor import StoredTensor, TensorType


class Phase(enum.IntEnum):
    """When an operator ran, seen from its node: for the node's hooks, inside it, or to add up what it passed on."""

    BEFORE = 0
    INSIDE = 1
    AFTER = 2


@dataclass(frozen=True, slots=True)
class Place:
    """A tensor in the memory of its backward: the number of its storage, and how it lies there, counted in elements.

    `digest` is BLAKE2b (8 bytes, hexadecimal) of its elements row by row, None where they are not defined.
    """

    storage: int
    offset: int
    type: TensorType
    strides: tuple[int, ...]
    conj: bool = False
    neg: bool = False
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Zeros:
    """A tensor of zeros without memory, as forward-mode differentiation makes them."""

    type: TensorType


@dataclass(frozen=True, slots=True)
class Constant:
    """An argument that is neither a number nor a text: `kind` is dtype, layout, memory_format, device or generator."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Dispatch:
    """One call of an operator by the dispatcher. `node` is that of the outermost backward, None outside of all.

    `arguments` and `keywords` hold numbers, texts, None, tuples of these, Places, Zeros and Constants; they are None
    when the call cannot be repeated (sparse or wrapped tensors). `generator` is the storage that holds the state of the
    random numbers before it. `results` is nested as the operator returned it, None when it gave such tensors.
    """

    position: int
    node: int | None
    phase: Phase
    operator: str
    arguments: tuple[Any, ...] | None
    keywords: dict[str, Any] | None
    generator: int | None
    results: Any


@dataclass(frozen=True, slots=True)
class Exchange:
    """What a node received, after its hooks, and what it passed on; None where there was no gradient."""

    node: int
    received: tuple[Place | None, ...]
    passed: tuple[Place | None, ...]


@dataclass(frozen=True, slots=True)
class StoredBackward:
    """All that a backward call needs to run again. `storages` holds bytes by number; those that a call makes are not
    in it, nor are those for which there was no room. `conditions` are torch's switches: threads, deterministic, mkldnn,
    matmul_precision, default_dtype.
    """

    storages: dict[int, bytes] = field(default_factory=dict)
    tensors: tuple[StoredTensor, ...] = ()
    dispatches: tuple[Dispatch, ...] = ()
    exchanges: tuple[Exchange, ...] = ()
    conditions: dict[str, bool | int | str] = field(default_factory=dict)
