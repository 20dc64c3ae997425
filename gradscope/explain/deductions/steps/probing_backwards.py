"""A backward that looks at gradients now and then, and leaves them for the training to add to.

It is told by where it stands: before the training's own backward, in another function, in few of the steps. A penalty
that is meant to be added now and then is computed where the loss is, or after it.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.losses_since import is_lost_since
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.deductions.steps.gradients_of_steps import steps_of
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import Moment, is_whole, timelines
from gradscope.model.finding import Related, Severity
from gradscope.model.graph import Backward
from gradscope.model.site import Stack
from gradscope.model.training import STEP, ZERO_GRAD
from gradscope.store.asked import kept

_FEW = 0.5  # of the steps, at most
_TIMES = 2
_GROWN = 3.0  # times as large as at first
_ADVICE = "clear the gradients behind this backward, or take them by torch.autograd.grad(), which leaves nothing"


def lost_by_probes(case: Case) -> bool:
    """Whether training is lost since what it added to the gradients that such a backward had left."""
    return any(one.severity is Severity.WARNING for one in left_by_probes(case))


@kept
def left_by_probes(case: Case) -> tuple[Cause, ...]:
    """The backward calls to whose gradients the training adds: a hint, for that may be meant, unless it is lost."""
    return tuple(_left_by_probes(case))


def _left_by_probes(case: Case) -> Iterator[Cause]:
    for timeline in timelines(case) if is_whole(case) else ():
        for optimizer in () if timeline.has_closures else steps_of(case):
            windows = [_before_the_step(window) for window in timeline.windows(optimizer)]
            several = sum(sum(one.backward is not None for one in window) > 1 for window in windows)
            if not _TIMES <= several <= _FEW * len(windows):
                continue  # as nearly all programs
            usual = _usual([window for window in windows if window])
            if usual is None:
                continue
            found = [pair for pair in (_left(window, usual) for window in windows) if pair is not None]
            plain = [window for window in windows if {one.stack for one in window if one.backward} == {usual}]
            if _TIMES <= len(found) <= _FEW * len(plain) and _share_leaves(case, *found[0]):
                yield _cause(case, *found[0], len(found))


def _before_the_step(window: tuple[Moment, ...]) -> tuple[Moment, ...]:
    """What counts for a step; nothing where another optimizer steps in between."""
    return () if any(one.has(STEP) for one in window) else window


def _usual(windows: list[tuple[Moment, ...]]) -> Stack | None:
    """Where the last backward before a step is called: the same in all steps, else None."""
    last = {next((one.stack for one in reversed(window) if one.backward is not None), None) for window in windows}
    return last.pop() if len(last) == 1 else None


def _left(window: tuple[Moment, ...], usual: Stack) -> tuple[Backward, Backward] | None:
    """A backward of another function whose gradients the first usual one adds to, and that one."""
    other: Backward | None = None
    for one in window:
        if one.has(ZERO_GRAD):
            other = None
        elif one.backward is not None and one.stack == usual:
            return None if other is None else (other, one.backward)
        elif one.backward is not None:
            other = one.backward if is_elsewhere(one.backward, usual) else None
    return None


def is_elsewhere(backward: Backward, usual: Stack) -> bool:
    """Whether it is called in a function that does not call the usual one."""
    site = backward.site
    return site is not None and (site.file, site.function) not in {(one.file, one.function) for one in usual}


def _share_leaves(case: Case, other: Backward, own: Backward) -> bool:
    if not {other.number, own.number} <= case.graph_sizes().keys():
        return False
    first, second = ({node.leaf for node in case.graph(one.number).nodes if node.accumulates} for one in (other, own))
    return not first.isdisjoint(second - {None})


def _is_lost(case: Case, other: Backward) -> bool:
    """Whether training is lost since a backward before which no weight had grown."""
    before = [look for look in samples_of(case) if next(iter(look.values())).backward < other.number]
    grown = (
        size.weight > _GROWN * max(before[0][name].weight, 1.0)
        for look in before
        for name, size in look.items()
        if name in before[0]
    )
    return bool(before) and is_lost_since(case, other.number) and not any(grown)


def _cause(case: Case, other: Backward, own: Backward, times: int) -> Cause:
    lost = _is_lost(case, other)
    return Cause(
        f"this backward leaves gradients, {times} times, to which the training's own adds: the next step uses both"
        f"{', and training is lost since' * lost}",
        other.site,
        (Related("fails_at", own.site, "the backward that adds to them"),),
        certain=False,
        backward=other.number,
        advice=_ADVICE,
        severity=Severity.WARNING if lost else None,
    )
