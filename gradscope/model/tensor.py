"""What is recorded of a tensor: never its data."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TensorType:
    """Shape, dtype and device. `dtype` without the torch prefix ("float32"); a size is -1 when it is symbolic."""

    shape: tuple[int, ...]
    dtype: str
    device: str = "cpu"

    def __str__(self) -> str:
        device = "" if self.device == "cpu" else f" {self.device}"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]{device}"


@dataclass(frozen=True, slots=True)
class SavedTensor:
    """A tensor that a node keeps for its backward.

    `storage` numbers the distinct storages of one graph (0, 1, ...; equal means shared), `bytes` is
    the whole storage's size, `leaf` the qualified parameter name (or "leaf" when it has none) when the
    tensor lives in a leaf's storage, else None.
    """

    name: str
    type: TensorType
    bytes: int
    storage: int
    leaf: str | None = None
