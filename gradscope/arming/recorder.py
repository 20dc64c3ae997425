"""Makes what records a process as it is planned: at once, the last steps, file after file, or when asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from gradscope.arming.armed import Armed
from gradscope.arming.plan import Plan
from gradscope.arming.ring import Ring
from gradscope.arming.rotation import Rotation
from gradscope.capture import Recorder
from gradscope.model.request import RecordRequest


def recorder(
    plan: Plan, path: Path, awaited: frozenset[str] = frozenset(), **how: Any
) -> Recorder | Ring | Rotation | Armed:
    """What records as planned; `awaited` and the others are the Recorder's. Raises UsageError."""
    make: Callable[..., Recorder] = partial(
        Recorder, limits=plan.limits, tensors=plan.tensors, awaited=awaited, **plan.options
    )
    if plan.rotate is not None:
        return Rotation(partial(make, detail=plan.detail), path, plan.rotate, plan.files, bool(how.get("late")))
    if plan.armed:
        request = RecordRequest(detail=plan.detail.value)
        return Armed(make, path, request, plan.signal, plan.triggers, plan.most)
    kept = make(path, plan.detail, plan.window, **how)
    return Ring(kept, plan.triggers, plan.most) if plan.triggers else kept
