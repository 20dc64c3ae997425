"""Live tensors in words: type, statistics, and the values of small ones. Nothing is kept."""

from __future__ import annotations

from typing import Any

import torch

from gradscope.model.statistics import statistics_words
from gradscope.probes.tensors.statistics import statistics_of
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function

MOST_VALUES = 24


def is_finite(tensor: Any) -> bool:
    """Whether a gradient has neither NaN nor Inf in it; what cannot be looked at counts as finite."""
    with _unseen():
        found = statistics_of(tensor)
    return found is None or not (found[3] or found[4])


def words(tensor: Any) -> list[str]:
    """One line of statistics, and the values when there are few."""
    if tensor is None:
        return ["none: no gradient comes along this way"]
    if not isinstance(tensor, torch.Tensor):
        return [repr(tensor)]
    with _unseen():
        found = statistics_of(tensor)
        head = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)} {tensor.device}"
        if found is None:
            return [head]
        norm, most, zeros, nan, inf = found
        lines = [f"{head}  {statistics_words(norm, most, zeros, 'zeros', nan, inf, 6)}"]
        if tensor.numel() <= MOST_VALUES:
            lines += [f"    {line}" for line in str(tensor.detach().cpu().tolist()).splitlines()]
    return lines


class _unseen:
    """Look without autograd, function modes or dispatch modes, ours among them, noticing."""

    def __enter__(self) -> None:
        self._guards: list[Any] = []
        for guard in (no_function, no_dispatch, no_autograd):  # some begin when they are made, and end in turn
            self._guards.append(guard())
            self._guards[-1].__enter__()

    def __exit__(self, *error: object) -> None:
        for guard in reversed(self._guards):
            guard.__exit__(None, None, None)
