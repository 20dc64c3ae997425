"""GS853: an optimizer that was given the state of other parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.finding import Related
from gradscope.model.site import Origin, Stack
from gradscope.model.training import MADE, RESTORE, STEP, TrainingCall

_SIZES = re.compile(r"size of tensor|sizes? .*match|[Ss]hapes? .*(match|broadcast)|same (size|shape)")


def state_of_others(case: Case) -> Iterator[Cause]:
    """What it flags: load_state_dict() of an optimizer whose saved state belongs to other parameters, and a step that
    fails for that.

    Why: an optimizer's state has no names: what was kept for the third parameter goes to the third parameter. Where
    the parameters or their groups are listed in another order than when it was saved, or a layer came in between, each
    gets the averages of another; torch compares how many there are in a group, and no shapes. The step fails much
    later, and does not where the shapes happen to fit.

    Wrong:
        optimizer = torch.optim.Adam([{"params": head.parameters()}, {"params": body.parameters()}])
        optimizer.load_state_dict(saved)    # of one that was given the body first

    Right:
        optimizer = torch.optim.Adam([{"params": body.parameters()}, {"params": head.parameters()}])
        optimizer.load_state_dict(saved)

    Do instead: list the parameters in the order in which they were saved, and set learning rates after loading; or
    begin with a new state where the model has changed.

    How it is found: the shapes in the state are compared with those of the parameters when it is loaded, and a step of
    this optimizer, the last that began, raised an error about sizes.
    """
    for failure in case.failures():
        if _in_step(failure.stack) and _SIZES.search(failure.message):
            calls = [call for timeline in timelines(case) for _, call in timeline.of(STEP, RESTORE)]
            stepped = next((call.optimizer for call in reversed(calls) if call.kind is STEP), None)
            loads = [call for call in calls if call.kind is RESTORE and call.optimizer == stepped]
            if loads and loads[-1].count:
                yield _cause(case, loads[-1], Related("fails_at", failure.site, "the optimizer's step"))


def _in_step(stack: Stack) -> bool:
    return any(site.origin is Origin.TORCH and "optim" in PurePath(site.file).parts for site in stack)


def _cause(case: Case, load: TrainingCall, fails: Related) -> Cause:
    made = (call for timeline in timelines(case) for _, call in timeline.of(MADE) if call.optimizer == load.optimizer)
    site = next((call.site for call in made), None) or load.site
    message = f"the state that this optimizer is given has other shapes for {load.count} of {load.total} parameters: "
    message += "it was saved for others, or for these in another order"
    return Cause(message, site, (Related("called_at", load.site, "load_state_dict"), fails), fails=True)
