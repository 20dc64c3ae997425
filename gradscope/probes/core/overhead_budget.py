"""Keeps what recording costs within a share of the run's time, by leaving steps out.

The cost is measured where it arises, as the difference between steps that are recorded and steps that are not. So a
few steps are always left out, also when all of them would fit.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

_SAMPLES = 12  # steps of each kind that are remembered
_FIRST = (True, True, True, False, False, True, False)  # the first steps: the very first are slower, whatever we do
_MEASURED_EVERY = 32  # steps, of which one is left out although all would fit
_GOLDEN = 0.6180339887498949  # multiples of it spread evenly, and fall in step with no pattern of the program


class OverheadBudget:
    """Chooses the steps to record, for `overhead` as a share of the time without recording."""

    def __init__(self, overhead: float, clock: Callable[[], float] = time.perf_counter) -> None:
        self._overhead, self._clock = overhead, clock
        self._ended: float | None = None
        self._times: dict[bool, deque[float]] = {kind: deque(maxlen=_SAMPLES) for kind in (True, False)}

    def end(self, step: int, recorded: bool) -> None:
        """A step has ended: note its time. That of the first two says little: they warm caches up."""
        now = self._clock()
        if self._ended is not None and step > 1:
            self._times[recorded].append(now - self._ended)
        self._ended = now

    def wants(self, step: int) -> bool:
        """Whether to record a step."""
        if step < len(_FIRST):
            return _FIRST[step]
        share = self.share()
        if share == 1.0:
            return step % _MEASURED_EVERY != 0
        return (step * _GOLDEN) % 1.0 < share

    def share(self) -> float:
        """The share of the steps that may be recorded, from 0 to 1."""
        with_it, without = self._times[True], self._times[False]
        if not with_it or not without:
            return 1.0
        extra = _typical(with_it) / max(_typical(without), 1e-9) - 1.0
        return 1.0 if extra <= self._overhead else self._overhead / extra


def _typical(times: deque[float]) -> float:
    """The mean of the middle half: an evaluation or a checkpoint between two steps says nothing about recording."""
    ordered = sorted(times)
    quarter = len(ordered) // 4
    middle = ordered[quarter : len(ordered) - quarter]
    return sum(middle) / len(middle)
