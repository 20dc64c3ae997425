"""An evaluation that at times comes back without train(), after which a model trains in evaluation mode for a while.

The surprise: the next evaluation that comes back the right way puts it right again, and nothing is left to see.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.states.ways_back import is_below, skipped
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.timeline import Timeline
from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall

_TIMES = 3  # forwards that train in evaluation mode


@dataclass(slots=True)
class _Evaluations:
    """What follows the eval() on one line: how often train() did, and else what trained in evaluation mode."""

    switch: TrainingCall
    restored: int = 0
    asleep: list[TrainingCall] = field(default_factory=list)


def missed_at_times(case: Case, timeline: Timeline) -> Iterator[Cause]:
    """Each evaluation that ends in both ways, where its function calls train() behind what leaves it."""
    trained = {call.module for _, call in timeline.of(FORWARD) if call.total and call.count}
    for model in (name for name in sorted(trained, key=str) if name):
        awake = {call.stack for _, call in timeline.of(FORWARD) if call.module == model and call.total and call.count}
        for found in _evaluations(case, timeline, model).values():
            both = found.restored and len(found.asleep) >= _TIMES and {one.stack for one in found.asleep} <= awake
            way = skipped(case, timeline, found.switch, certain=True) if both else None
            if way is not None:
                places = ((found.switch.site, "eval()"), (way.train, "train()"))
                yield Cause(
                    f"{model} trains on in evaluation mode at times, as {way.why}: {len(found.asleep)} forwards that "
                    "train, which other rounds have in training mode",
                    way.site,
                    tuple(Related("called_at", site, what) for site, what in places if site not in (None, way.site)),
                    module=model,
                    advice="call train() on each way out of the evaluation: in a finally, say",
                )


def _evaluations(case: Case, timeline: Timeline, model: str) -> dict[Site | None, _Evaluations]:
    """By line, the evaluations of a model for which no part is put back by itself, and none trains within."""
    found: dict[Site | None, _Evaluations] = {}
    models, meant = {call.module for _, call in timeline.of(FORWARD)}, set[Site | None]()
    switch, asleep = None, list[TrainingCall]()
    for _, call in timeline.of(EVAL, TRAIN, FORWARD):
        is_part = call.kind is TRAIN and call.count > 0 and call.module not in models
        if switch is None or not (is_part or call.module == model):
            pass
        elif is_part or (call.kind is FORWARD and call.total and is_below(case, call, switch)):
            meant.add(switch.site)
        elif call.kind is FORWARD:
            asleep += [call] * (call.total > 0)
        else:
            one = found.setdefault(switch.site, _Evaluations(switch))
            one.asleep += asleep
            one.restored += call.kind is TRAIN and not asleep and is_below(case, call, switch)
        if call.module == model and call.kind in (EVAL, TRAIN):
            switch, asleep = (call if call.kind is EVAL else None), []
    return {site: one for site, one in found.items() if site not in meant}
