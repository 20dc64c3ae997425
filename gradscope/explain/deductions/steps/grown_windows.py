"""Steps that come to use several backward calls later in a run, each of which clears what those before have added.

The surprise: while a step has one backward, clearing in front of each is right, and no look at those steps shows more.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gradscope.explain.evidence.timeline import Moment
from gradscope.model.site import Stack
from gradscope.model.training import CLIP, SCALED_STEP

_WINDOWS = 4  # steps of several calls, up to the last one of the run
Lost = tuple[Stack, Stack, int]  # the zero_grad(), the backward calls, and how many of them are lost


def grown(windows: Sequence[Sequence[Moment]], lost: Sequence[Lost | None]) -> list[Lost]:
    """What each window from the first with several backward calls on loses, all in one way; else nothing.

    Where a bad batch is skipped, the windows around are whole; where its gradients are measured, a clipping does it.
    """
    calls = [sum(one.backward is not None for one in window) for window in windows]
    first = next((at for at, count in enumerate(calls) if count > 1), len(calls))
    known = [one for one in lost[first:] if one is not None]
    is_steady = all(one <= following for one, following in pairwise(calls[first:]))
    if not is_steady or len(known) < max(_WINDOWS, len(lost) - first) or len({one[:2] for one in known}) > 1:
        return []
    return known if not any(_is_measured(window) for window in windows[first:]) else []


def _is_measured(window: Sequence[Moment]) -> bool:
    """Whether gradients are clipped, or a step of them tried, before another backward."""
    last = max((at for at, one in enumerate(window) if one.backward is not None), default=0)
    return any(one.has(CLIP, SCALED_STEP) for one in window[:last])
