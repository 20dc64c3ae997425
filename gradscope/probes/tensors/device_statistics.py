"""Statistics of gradients on an accelerator: asked for one by one while a backward runs, read when it is over.

The surprise: to ask the device for one number is to wait for it, so a look for each node would make the program as slow
as its slowest kernels, and break the capture of a CUDA graph. So there is one wait a backward. A large gradient is read
in stretches, because what is made of it in between takes memory that the program may need.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch

from gradscope.probes.tensors import accelerators
from gradscope.probes.tensors.statistics import Statistics
from gradscope.signals import let_through
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled

_STRETCH = 4_194_304  # elements: below 2 ** 24, so that single precision counts them all
_LONGEST = 5.0  # seconds to wait: a device that hangs must not hang the program here
_PAUSE = 0.00005
_LEAST = 1e-30  # a divisor that no device takes for zero

_vector_norm = torch.linalg.vector_norm
Answer = Callable[[Statistics], None]


class _Asked(NamedTuple):
    """A gradient of so many elements, its stretches' rows, and the stream that computes them."""

    stream: Any
    rows: list[torch.Tensor]
    elements: int
    answer: Answer

    def is_like(self, other: _Asked) -> bool:
        """Whether both can be fetched at once."""
        return bool(self.stream == other.stream) and self.rows[0].dtype is other.rows[0].dtype


class DeviceStatistics:
    """The gradients that were asked about since the last reading."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        self._asked: list[_Asked] = []

    def ask(self, gradient: torch.Tensor, answer: Answer) -> bool:
        """Have a gradient measured on the stream that has it; `answer` gets its statistics from `read`.

        False where that cannot be: during the capture of a graph, where memory is short, and of what holds no
        floating-point numbers.
        """
        values = gradient.abs() if gradient.is_complex() else gradient
        if not accelerators.is_far(values) or accelerators.is_capturing(values.device):
            return False
        try:
            rows = [_row(piece) for piece in _stretches(values)]
        except torch.OutOfMemoryError as error:
            let_through(error)
            return False
        self._asked.append(_Asked(accelerators.stream_of(values.device), rows, values.numel(), answer))
        return True

    def read(self) -> None:
        """Wait for the device, and answer. Raises TimeoutError."""
        if self._asked:
            with unprofiled(), no_function(), no_dispatch(), no_autograd(), no_transforms():
                self._read()

    def _read(self) -> None:
        asked, self._asked = self._asked, []
        while asked:
            alike = [one for one in asked if one.is_like(asked[0])]
            asked = [one for one in asked if not one.is_like(asked[0])]
            numbers = iter(_fetched(alike[0].stream, [row for one in alike for row in one.rows]))
            for one in alike:
                one.answer(_together([next(numbers) for _ in one.rows], one.elements))


def _stretches(values: torch.Tensor) -> Iterator[torch.Tensor]:
    """A tensor in pieces that are small enough, whatever its shape and strides: an expanded one is never whole."""
    if values.numel() <= _STRETCH:
        yield values
        return
    longest = max(range(values.dim()), key=lambda dimension: values.shape[dimension])
    for half in values.tensor_split(2, longest):
        yield from _stretches(half)


def _row(piece: torch.Tensor) -> torch.Tensor:
    """The greatest magnitude of the finite numbers, their norm divided by it, how many are not zero, of all as well
    (NaN and Inf are not zero), and the NaN."""
    values = piece if piece.dtype is torch.float64 else piece.float()
    finite = torch.nan_to_num(values, 0.0, 0.0, 0.0)
    most = _vector_norm(finite, math.inf)
    scaled = _vector_norm(finite / most.clamp_min(_LEAST))  # no square overflows
    nan = torch.count_nonzero(torch.isnan(values)).to(values.dtype)
    return torch.stack((most, scaled, _vector_norm(finite, 0), _vector_norm(values, 0), nan))


def _fetched(stream: Any, rows: list[torch.Tensor]) -> list[list[float]]:
    """Rows of one stream, as numbers of the host."""
    device = rows[0].device
    with accelerators.on_stream(stream):
        whole = torch.stack(rows)
        host = accelerators.host_room(whole.numel(), whole.dtype)
        host[: whole.numel()].copy_(whole.flatten(), non_blocking=True)
        event = accelerators.event_on(device)
        event.record(stream)
    deadline = time.monotonic() + _LONGEST
    while not event.query():
        if time.monotonic() > deadline:
            raise TimeoutError("the device did not finish what it was given")
        time.sleep(_PAUSE)
    found: list[list[float]] = host[: whole.numel()].reshape(whole.shape).tolist()
    accelerators.give_back(host)
    return found


def _together(rows: Iterable[list[float]], count: int) -> Statistics:
    """The statistics of a whole gradient from those of its stretches."""
    squares = most = 0.0
    zeros, nan, odd = count, 0, 0
    for largest, scaled, finite, nonzero, nans in rows:
        squares += (scaled * max(largest, _LEAST)) ** 2
        most = max(most, largest)
        zeros -= int(nonzero)
        nan += int(nans)
        odd += int(nonzero - finite)
    return math.sqrt(squares), most, zeros / count, nan, odd - nan
