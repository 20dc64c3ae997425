"""Which backward calls are added up for each step of a plain optimizer, none divided by their number."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePath

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import creation
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.model.graph import Backward
from gradscope.model.site import Site
from gradscope.model.training import MADE, STEP

_PLAIN = "sgd.py"  # of torch.optim: other optimizers step as far whatever factor the gradients have
_MEANS = ("Mean", "MseLoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "NllLoss", "CrossEntropyLoss", "BinaryCrossEntropy")
_BATCHES, _STEPS = 4, 8  # backward calls of a step, and steps, at least
_MOST = 0.9  # of the steps, that have as many


def summed_for_a_step(case: Case) -> tuple[int, list[Backward]] | None:
    """The one optimizer of a thread, an SGD, and the first calls that are added up for one of its steps.

    None where they are not of one line, or of another number for more than a few steps, or where what a call begins
    with is not a mean: what is multiplied or divided has a factor already.
    """
    for timeline in timelines(case):
        made = {call.optimizer for _, call in timeline.of(MADE) if call.optimizer is not None}
        stepped = {call.optimizer for _, call in timeline.of(STEP) if call.optimizer is not None}
        if len(stepped) == 1 and stepped <= made and not timeline.has_closures:
            (optimizer,) = stepped
            calls = _alike(timeline, optimizer) if _is_plain(case, optimizer) else []
            if calls and _takes_means(case, calls):
                return optimizer, calls
    return None


def _is_plain(case: Case, optimizer: int) -> bool:
    return any(PurePath(site.file).parts[-2:] == ("optim", _PLAIN) for site in creation(case, optimizer))


def _alike(timeline: Timeline, optimizer: int) -> list[Backward]:
    """The backward calls before a step, where nearly all steps have as many, of one line."""
    windows = [[one.backward for one in window if one.backward is not None] for window in timeline.windows(optimizer)]
    of_one_line = [calls for calls in windows if len(calls) >= _BATCHES and len({call.site for call in calls}) == 1]
    alike: dict[tuple[int, Site | None], list[list[Backward]]] = defaultdict(list)
    for calls in of_one_line:
        alike[len(calls), calls[0].site].append(calls)
    found = max(alike.values(), key=len, default=[])
    return found[0] if len(windows) >= _STEPS and len(found) >= _MOST * len(windows) else []


def _takes_means(case: Case, calls: list[Backward]) -> bool:
    """Whether the root of each call is a mean: what is multiplied or divided has a factor already."""
    seen = [call.number for call in calls if call.number in case.graph_sizes()]
    return bool(seen) and all(case.graph(one).nodes[0].short_name.startswith(_MEANS) for one in seen)
