"""What is usual of a number that comes again and again: its running median, and how far it mostly is from that."""

from __future__ import annotations

from collections import deque
from statistics import median

LEAST = 20  # numbers, before anything is usual
_LAST = 101  # of which the median is
_ANEW = 50  # numbers after which it is taken anew: a median costs more than the look


class Usual:
    """Of the last numbers. `median` is None until there are enough."""

    def __init__(self) -> None:
        self._last: deque[float] = deque(maxlen=_LAST)
        self._count = 0
        self.median: float | None = None
        self.distance = 0.0

    def add(self, number: float) -> None:
        """One more."""
        self._last.append(number)
        self._count += 1
        if self._count == LEAST or self._count % _ANEW == 0:
            self.median = middle = median(self._last)
            self.distance = median(abs(one - middle) for one in self._last)
