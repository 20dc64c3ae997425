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
    at: int
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
        if switch is not None and switch[1].total and len(late) >= _TIMES:
            found.append(LeftAtRest(module, *switch, len(late)))
    return found


def _switch(timeline: Timeline, module: str | None, last: int) -> tuple[int, TrainingCall] | None:
    """The first eval() of a model after a place, with its own, provided that no train() follows, of it or a part.

    A train() before the model trains on is of an evaluation that is over: several may come in a row.
    """
    models, found, is_over = {call.module for _, call in timeline.of(FORWARD)}, None, False
    trains = False
    for at, call in timeline.of(EVAL, TRAIN, FORWARD):
        is_part = call.kind is TRAIN and call.count > 0 and call.module not in models
        if at <= last or (call.module != module and not (is_part and found is not None)):
            continue
        if call.kind is EVAL:
            found = found or (at, call)
        elif call.kind is FORWARD:
            trains = trains or call.total > 0
        elif is_part or trains or (found is None and not is_over):
            return None
        else:
            found, is_over = None, True
    return found
