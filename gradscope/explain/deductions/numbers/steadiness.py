"""Whether numbers grow or shrink step by step, or only jump."""

from __future__ import annotations

import math
from collections.abc import Sequence


def steadiness(values: Sequence[float]) -> float:
    """The correlation of numbers with their places: 1 where each step adds the same, 0 where all are the same.

    `statistics` has a function for it, but takes longer to load than nearly all questions take to answer.
    """
    middle, mean = (len(values) - 1) / 2, math.fsum(values) / len(values)
    places, numbers = [place - middle for place in range(len(values))], [value - mean for value in values]
    spread = math.fsum(one * one for one in places) * math.fsum(one * one for one in numbers)
    together = math.fsum(place * number for place, number in zip(places, numbers, strict=True))
    return together / math.sqrt(spread) if spread else 0.0
