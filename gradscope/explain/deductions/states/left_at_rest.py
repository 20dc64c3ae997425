"""The models that train on in evaluation mode, and the eval() that left them there.

The surprise: what is evaluated after the training is in evaluation mode from then on as well, and means it.
"""

from __future__ import annotations

from dataclasses import dataclass

from gradscope.explain.evidence.timeline import Timeline
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall

_TIMES = 3  # backward calls in the wrong mode


@dataclass(frozen=True, slots=True)
class LeftAtRest:
    """A model, the eval() after which it trains in evaluation mode, and in how many backward calls."""

    module: str | None
    switch: TrainingCall
    times: int


def left_at_rest(timeline: Timeline) -> list[LeftAtRest]:
    """The models that only ever train in evaluation mode after an eval()."""
    seen = timeline.modes
    calls = {timeline.moments[at].stack for at, mode in seen.items() if True in mode}  # not those of validation
    trained: dict[str | None, int] = {}
    for at, call in timeline.of(FORWARD):
        if call.total and call.count:
            trained[call.module] = at
    found = []
    for module, last in trained.items():
        switch = _switch(timeline, module, last)
        late = [
            at for at, mode in seen.items() if at > last and mode == {False} and timeline.moments[at].stack in calls
        ]
        if switch is not None and switch.total and len(late) >= _TIMES:
            found.append(LeftAtRest(module, switch, len(late)))
    return found


def _switch(timeline: Timeline, module: str | None, last: int) -> TrainingCall | None:
    """The first eval() of a model after a place, provided that no train() follows, of it or of a part by itself."""
    models, found = {call.module for _, call in timeline.of(FORWARD)}, None
    for at, call in timeline.of(EVAL, TRAIN):
        is_part = call.kind is TRAIN and call.count > 0 and call.module not in models
        if at > last and (call.module == module or (is_part and found is not None)):
            if call.kind is TRAIN:
                return None
            found = found or call
    return found
