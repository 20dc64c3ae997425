"""Sees the numbers of results come back as a new tensor: `torch.tensor([loss_a, loss_b])`.

The surprise: torch reads them without an operator that could be heard. What tells is that the numbers are the same.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Iterator
from typing import Any

import torch

from gradscope.probes.core.sink import Sink
from gradscope.torch_internals.guards import no_dispatch, no_function, unprofiled

_COMES_FROM_PYTHON = "aten.lift_fresh.default"
_HANDED_OUT = "aten._local_scalar_dense.default"  # an operator shows these
_MANY = 64  # numbers: a tensor that has more holds data
_CLOSE = 1e-6  # of a float64 that came back as a float32


class ReturnedNumbers:
    """Keeps, of one block, the results of one element, until their numbers are found in a tensor made from Python."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self._results: list[weakref.ref[torch.Tensor]] = []

    def saw(self, operator: int, operands: Iterator[torch.Tensor], results: Iterator[torch.Tensor]) -> None:
        """An operator of a forward has run on what was learned: note its results of one element."""
        if operator == self._sink.string(_HANDED_OUT):
            gone = {id(one) for one in operands}
            self._results = [one for one in self._results if id(one()) not in gone]
        for result in results:
            if _is_readable(result) and result.numel() == 1:
                self._results.append(weakref.ref(result))

    def behind(self, operator: int, result: Any) -> list[torch.Tensor]:
        """The results whose numbers a tensor that was made from Python's holds."""
        if not self._results or operator != self._sink.string(_COMES_FROM_PYTHON) or not _is_readable(result):
            return []
        with unprofiled(), no_function(), no_dispatch():
            values = [value for value in result.reshape(-1).tolist() if _tells(value)] if result.dim() < 2 else []
            living = [one for one in (known() for known in self._results) if one is not None and one.requires_grad]
            return [one for one in living if _is_among(one.item(), values)] if values else []

    def forget(self) -> None:
        """A block ends."""
        self._results.clear()


def _is_readable(tensor: Any) -> bool:
    """Whether its numbers can be read without waiting for a device, and are few."""
    return type(tensor) is torch.Tensor and tensor.is_floating_point() and tensor.is_cpu and tensor.numel() <= _MANY


def _tells(value: float) -> bool:
    """Whether a number is one that nothing else has: not 0, 1, 3.0 or NaN."""
    return math.isfinite(value) and not value.is_integer()


def _is_among(number: float, values: list[float]) -> bool:
    return any(math.isclose(number, value, rel_tol=_CLOSE) for value in values)
