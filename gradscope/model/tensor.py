"""What is recorded of a tensor: never its data, unless `--tensors` asks for it."""

from __future__ import annotations

import enum
import math
import re
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape, dtype and device. `dtype` without the torch prefix ("float32"); a size is -1 when it is symbolic."""

    shape: tuple[int, ...]
    dtype: str
    device: str = "cpu"

    @property
    def bytes(self) -> int:
        """What a tensor of this type takes, when it is laid out densely; symbolic sizes count as nothing."""
        return max(math.prod(self.shape), 0) * _width(self.dtype)

    def __str__(self) -> str:
        device = "" if self.device == "cpu" else f" {self.device}"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]{device}"


@lru_cache(maxsize=256)
def _width(dtype: str) -> int:
    """Bytes of an element."""
    bits = re.search(r"\d+", dtype)  # float8_e4m3fn, bfloat16, complex64; bool has none
    return int(bits[0]) // 8 if bits else 1


@dataclass(slots=True, unsafe_hash=True)  # not frozen: frozen ones take four times as long to make
class SavedTensor:
    """A tensor that a node keeps for its backward.

    `storage` numbers the distinct storages of one graph (0, 1, ...; equal means shared), `bytes` is
    the whole storage's size, `leaf` the qualified parameter name (or "leaf" when it has none) when the
    tensor lives in a leaf's storage, else None. `given` tells whether the forward was given the storage (data,
    buffers) rather than computed it.
    """

    name: str
    type: TensorType
    bytes: int
    storage: int
    leaf: str | None = None
    given: bool = False

    @property
    def kind(self) -> str:
        """Parameter (any leaf), input or activation."""
        return "parameter" if self.leaf is not None else "input" if self.given else "activation"


@dataclass(frozen=True, slots=True)
class Recomputed:
    """What a node does not save because a checkpoint, numbered in its graph, computes it again.

    An estimate: torch tells shapes, and a tensor that has those of a parameter or input beside it is taken for that.
    """

    checkpoint: int
    bytes: int


class TensorRole(enum.IntEnum):
    """What a stored tensor is to its backward. The numbers stand in recordings."""

    ROOT_GRADIENT = 0
    SAVED = 1


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """A tensor whose bytes `trace --tensors` stored, because an operator of the backward used them.

    `node` is the id of the node that saves it; for a root gradient, the root's place among the roots. `position` is its
    place among the node's saved tensors. `storage` numbers the storages of one backward call.
    """

    role: TensorRole
    node: int
    position: int
    type: TensorType
    storage: int
