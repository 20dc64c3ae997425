"""Bounds what is asked of the collector, so that no search depends on how much a program holds.

Two surprises: a generation's length is not to be had without listing it; it follows from how often the collector ran.
And what lists objects must not be one of them, as a generator or a list that is added to would: it would hold itself.
"""

from __future__ import annotations

import gc
import sys
from typing import Any

_MOST = 20_000  # objects in a generation that may be listed at any time
_YOUNG = 2 if sys.version_info < (3, 14) else 1  # generations that are emptied into the next; then all that is old
_SHARE = 20  # objects that may be searched for one thing that was made


def young_generations() -> tuple[int, ...]:
    """Those to list: what survived few collections or none, a bounded number of objects whatever else there is."""
    counts = gc.get_count()
    lengths = (counts[0], counts[1] * gc.get_threshold()[0])  # at most
    return tuple(generation for generation in range(_YOUNG) if lengths[generation] <= _MOST)


def times_aged() -> int | None:
    """Grows when something young may have become old; None where not all that is young may be listed."""
    whole = len(young_generations()) == _YOUNG
    return sum(one["collections"] for one in gc.get_stats()[_YOUNG - 1 :]) if whole else None


class SearchesOfAll:
    """Spreads searches of all objects over a run: as many are looked at as is due for what was made since the last."""

    def __init__(self) -> None:
        self._due = 0  # things to be made before the next

    def objects(self, made: int) -> list[Any]:
        """All objects; none while it is too early. `made` things came up since this was last asked."""
        self._due -= made
        if self._due > 0:
            return []
        found = gc.get_objects()
        self._due = len(found) // _SHARE
        return found
