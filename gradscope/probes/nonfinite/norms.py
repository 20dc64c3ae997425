"""Norms of tensors: of many at once, since to ask for one number costs as much as to compute it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

import torch

_K = TypeVar("_K")


def wide(tensor: torch.Tensor) -> torch.dtype:
    """The dtype in which a tensor is measured."""
    return torch.float64 if tensor.dtype is torch.float64 else torch.float32


def norm_of(tensor: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The 2-norm, as a tensor of one number."""
    return torch.linalg.vector_norm(tensor, dtype=dtype)


def read(asked: Iterable[tuple[_K, tuple[torch.Tensor, ...]]], answer: Callable[[_K, list[float]], None]) -> None:
    """Read numbers that stand in this machine's memory: `answer` gets those of each key, which are of one dtype."""
    groups: dict[torch.dtype, list[tuple[_K, tuple[torch.Tensor, ...]]]] = defaultdict(list)
    for key, numbers in asked:
        groups[numbers[0].dtype].append((key, numbers))
    for alike in groups.values():
        values = iter(torch.stack([one for _, numbers in alike for one in numbers]).tolist())
        for key, numbers in alike:
            answer(key, list(islice(values, len(numbers))))
