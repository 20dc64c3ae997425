"""Steps that are left out because a gradient is not finite: by a GradScaler, or by the program itself."""

from __future__ import annotations

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.site import Site
from gradscope.model.training import SCALED_STEP, STEP, ZERO_GRAD
from gradscope.store.asked import kept

_SKIPS = 16  # a scaler that begins at 65,536 finds its factor in fewer


@kept
def skipped_to_the_end(case: Case) -> tuple[int, Site | None] | None:
    """How many steps were left out at the end of the run, and where: more than a scaler needs to find its factor."""
    for timeline in timelines(case):
        skipped, last = 0, None
        for at, call in timeline.of(SCALED_STEP):
            after = timeline.after(at, STEP, SCALED_STEP, ZERO_GRAD)
            skipped, last = (0 if after is not None and after.has(STEP) else skipped + 1), call.site
        if skipped >= _SKIPS:
            return skipped, last
    return None


@kept
def left_out(case: Case) -> frozenset[int]:
    """The backward calls whose gradients were cleared without a step, where the program stepped again after that."""
    found: set[int] = set()
    for timeline in timelines(case):
        cleared = steps = False  # what follows a moment: first a clearing, sometime a step
        for moment in reversed(timeline.moments):
            if moment.has(STEP, SCALED_STEP, ZERO_GRAD):
                cleared, steps = moment.has(ZERO_GRAD), steps or moment.has(STEP)
            elif moment.backward is not None and cleared and steps:
                found.add(moment.backward.number)
    return frozenset(found)
