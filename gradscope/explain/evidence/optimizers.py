"""Which optimizers a program has: the lines that made them, and which one stepped."""

from __future__ import annotations

from itertools import takewhile
from pathlib import PurePath

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import timelines
from gradscope.model.site import Origin, Site, Stack, user_site
from gradscope.model.training import MADE, SCALED_STEP, STEP
from gradscope.store.asked import kept

_CLIPPING = "clip_grad.py"  # of torch.nn.utils


def made_at(case: Case, optimizer: int | None) -> Site | None:
    """The line that made an optimizer."""
    return user_site(creation(case, optimizer))


def creation(case: Case, optimizer: int | None) -> Stack:
    """The calls that made an optimizer, the innermost first; none where that was not seen."""
    calls = (call for timeline in timelines(case) for _, call in timeline.of(MADE))
    return next((call.stack for call in calls if call.optimizer == optimizer), ())


@kept
def idle_optimizers(case: Case) -> frozenset[int]:
    """Those that were made and never stepped, where others did: what they hold was never seen."""
    made, stepped = set[int](), set[int]()
    for timeline in timelines(case):
        made |= {call.optimizer for _, call in timeline.of(MADE) if call.optimizer is not None}
        stepped |= {call.optimizer for _, call in timeline.of(STEP, SCALED_STEP) if call.optimizer is not None}
    return frozenset(made - stepped) if stepped else frozenset()


def stepped_at(case: Case, site: Site | None) -> int | None:
    """The optimizer that a line steps; None where it steps several, or none."""
    steps = (call for timeline in timelines(case) for _, call in timeline.of(STEP, SCALED_STEP))
    found = {call.optimizer for call in steps if call.site == site}
    return found.pop() if len(found) == 1 else None


def is_clipping(stack: Stack) -> bool:
    """Whether something happened inside of torch's clipping of gradients."""
    return any(site.file.endswith(_CLIPPING) for site in stack)


def is_in_step(stack: Stack) -> bool:
    """Whether something happened inside of an optimizer of torch's, and not in a closure that this called."""
    own = takewhile(lambda site: site.origin is not Origin.USER, stack)
    return any(site.origin is Origin.TORCH and "optim" in PurePath(site.file).parts for site in own)
