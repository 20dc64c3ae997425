"""GS805: an optimizer that goes on stepping with a learning rate of zero."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.small_updates import made_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.finding import Related, Severity
from gradscope.model.site import Site
from gradscope.model.training import SCHEDULE, STEP

_STEPS = 8  # at zero, at the end of the run
_SHARE = 0.25  # of all steps


def rate_of_zero(case: Case) -> Iterator[Cause]:
    """What it flags: an optimizer whose learning rate is zero for the last part of the run, or all of it.

    Why: with lr 0 a step changes nothing. A schedule that is stepped for each batch, but was made for epochs, or that
    was given fewer steps than the run has, ends there early and silently.

    Wrong:
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=10)
        for x, y in loader:  # a thousand batches
            step(x, y)
            scheduler.step()

    Right:
        scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=len(loader))

    Do instead: give the schedule the number of steps that it will be stepped, or step it once for each epoch.

    How it is found: the rate of each group where it changes, and the number of steps. Where only some groups have a
    rate of zero it is a hint: that is also a way to freeze a part.
    """
    for optimizer, (groups, zero, since) in _rates(case).items():
        steps = _steps(case, optimizer)
        if not zero or steps - since < max(_STEPS, _SHARE * steps):
            continue
        scheduled = _scheduled(case, optimizer) if since else None
        made = made_at(case, optimizer)
        every = zero == groups
        yield Cause(
            f"the learning rate{'' if every else f' of {zero} of {groups} groups'} is 0 in "
            + ("all" if not since else f"the last {steps - since}")
            + f" of {steps} steps",
            scheduled or made,
            (Related("declared_at", made, "the optimizer"),) if scheduled is not None and made is not None else (),
            certain=every,
            severity=Severity.WARNING if every else Severity.INFO,
        )


def _rates(case: Case) -> dict[int, tuple[int, int, int]]:
    """By optimizer: how many groups it has, how many rest at the end, and since which step."""
    last: dict[int, dict[int, tuple[float, int]]] = {}
    for rate in case.learning_rates():
        last.setdefault(rate.optimizer, {})[rate.group] = rate.value, rate.count
    found = {}
    for optimizer, groups in last.items():
        zero = [count for value, count in groups.values() if value == 0]
        found[optimizer] = len(groups), len(zero), max(zero, default=0)
    return found


def _steps(case: Case, optimizer: int) -> int:
    calls = (call for timeline in timelines(case) for _, call in timeline.of(STEP))
    return sum(call.optimizer == optimizer for call in calls)


def _scheduled(case: Case, optimizer: int) -> Site | None:
    """The line that steps the schedule: the last one, since the schedule steps itself once where it is made."""
    calls = [call for timeline in timelines(case) for _, call in timeline.of(SCHEDULE) if call.optimizer == optimizer]
    return calls[-1].site if calls else None
