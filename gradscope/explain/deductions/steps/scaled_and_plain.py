"""An optimizer that a scaler has stepped, and that is stepped again with the same gradients: scaler.step() calls it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.site import Site, Stack, user_frames

_SCALER = "/torch/amp/grad_scaler.py"
_TIMES = 2
_ADVICE = "leave this step to the scaler: it has called it, unless the gradients overflowed"


def scaled_and_plain(case: Case) -> Iterator[Cause]:
    """Steps of an optimizer by a scaler and without it, on two lines, with no backward between them."""
    times: Counter[tuple[Site, Site]] = Counter()
    names: dict[Site, str] = {}
    looks = sorted(case.optimizer_looks(), key=lambda look: (look.optimizer, look.count))
    for first, second in pairwise(looks):
        if not _is_repeated(first, second) or _is_scaled(first.stack) == _is_scaled(second.stack):
            continue
        scaled, plain = (first, second) if _is_scaled(first.stack) else (second, first)
        lines = next(iter(user_frames(scaled.stack)), None), next(iter(user_frames(plain.stack)), None)
        if lines[0] is not None and lines[1] is not None and lines[0] != lines[1]:
            times[lines[0], lines[1]] += 1
            names[lines[1]] = plain.name
    for (scaled_at, plain_at), count in times.items():
        if count >= _TIMES:
            yield Cause(
                f"{names[plain_at]} steps here, and in the scaler's step(), with the same gradients",
                plain_at,
                (Related("shared_at", scaled_at, "the scaler's step"),),
                advice=_ADVICE,
            )


def _is_repeated(first: OptimizerLook, second: OptimizerLook) -> bool:
    """Whether two steps of an optimizer follow each other with the same gradients."""
    states = [{one.tensor for one in look.parameters if one.state is GradientState.VALUES} for look in (first, second)]
    is_next = first.optimizer == second.optimizer and second.count == first.count + 1
    return (
        is_next and first.backward is not None and first.backward == second.backward and states[0] == states[1] != set()
    )


def _is_scaled(stack: Stack) -> bool:
    return any(site.file.replace("\\", "/").endswith(_SCALER) for site in stack)
