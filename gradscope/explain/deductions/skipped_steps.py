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


def is_left_out(case: Case, backward: int) -> bool:
    """Whether the gradients of a backward were cleared without a step, and the program stepped again after that."""
    for timeline in timelines(case):
        for at in timeline.backwards:
            call = timeline.moments[at].backward
            if call is not None and call.number == backward:
                following = [one for one in timeline.moments[at + 1 :] if one.has(STEP, SCALED_STEP, ZERO_GRAD)]
                return bool(following) and following[0].has(ZERO_GRAD) and any(one.has(STEP) for one in following)
    return False
