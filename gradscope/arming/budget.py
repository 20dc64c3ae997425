"""Bounds what looks take to a share of the run's time: the longer a look takes, the rarer it is."""

from __future__ import annotations

import math
from collections import deque

_RECENT = 4  # looks whose mean price counts


class Budget:
    """Of looks of one kind. Times are what time.perf_counter tells."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._prices: deque[float] = deque(maxlen=_RECENT)
        self._next = -math.inf

    def is_due(self, now: float) -> bool:
        """Whether there may be a look."""
        return now >= self._next

    def spent(self, started: float, ended: float) -> None:
        """There was one."""
        self._prices.append(ended - started)
        self._next = ended + sum(self._prices) / len(self._prices) / self._share
