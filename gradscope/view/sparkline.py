"""A curve in one line of text."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
MOST = 32
NO_NUMBER = "!"


def sparkline(values: Sequence[float], most: int = MOST) -> str:
    """Bars on a logarithmic scale, because gradients span decades; "!" where there is no finite value.

    Of more than `most` values each bar shows the greatest of its stretch.
    """
    shown = _thinned(values, most)
    known = [value for value in shown if math.isfinite(value) and value > 0]
    if not known:
        return "".join(BARS[0] if value == 0 else NO_NUMBER for value in shown)
    low, high = math.log(min(known)), math.log(max(known))
    return "".join(_bar(value, low, high) for value in shown)


def narrowed(bars: str, most: int) -> str:
    """The same curve in fewer bars, each the worst of its stretch."""
    if len(bars) <= most:
        return bars
    cuts = [round(place * len(bars) / most) for place in range(most + 1)]
    stretches = [bars[start:end] for start, end in itertools.pairwise(cuts)]
    return "".join(NO_NUMBER if NO_NUMBER in stretch else max(stretch) for stretch in stretches)


def _bar(value: float, low: float, high: float) -> str:
    if not math.isfinite(value):
        return NO_NUMBER
    if value <= 0:
        return BARS[0]
    share = (math.log(value) - low) / (high - low) if high > low else 0.5
    return BARS[round(share * (len(BARS) - 1))]


def _thinned(values: Sequence[float], most: int) -> list[float]:
    """At most `most` values: NaN hides nothing, so a stretch with one shows it."""
    if len(values) <= most:
        return list(values)
    cuts = [round(place * len(values) / most) for place in range(most + 1)]
    return [_worst(values[start:end]) for start, end in itertools.pairwise(cuts)]


def _worst(values: Sequence[float]) -> float:
    return next((value for value in values if not math.isfinite(value)), max(values))
