"""A train() that takes an eval() back before anything was evaluated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.timeline import Timeline
from gradscope.model.finding import Related
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall

_TIMES = 2  # rounds of a validation


def switched_back(timeline: Timeline) -> Iterator[Cause]:
    """The train() of a model that follows its eval() again and again, with forwards without gradients after it.

    Silent where one forward of the model was in evaluation mode, as eval() serves that one; where a layer alone is put
    back, as dropout that samples models; and where the same forward also runs without an eval() before it, as one that
    gathers data for the training.
    """
    models = {call.module for _, call in timeline.of(FORWARD) if call.total and call.count and call.module}
    resting = {call.module for _, call in timeline.of(FORWARD) if not call.count}
    for model in sorted(models - resting, key=str):
        forwards = list(_forwards(timeline, model))
        others = {forward.stack for train, forward in forwards if train is None}
        trains = {id(train): train for train, forward in forwards if train is not None and forward.stack not in others}
        times = Counter(train.site for train in trains.values())
        for site, count in times.items():
            if count >= _TIMES and site is not None:
                calls = (call for _, call in timeline.of(EVAL) if call.module == model)
                place = next((call.site for call in calls), None)
                yield Cause(
                    f"this takes the eval() of {model} back before anything was evaluated: each of its forwards is in "
                    "training mode, where its layers drop, or keep averages",
                    site,
                    (Related("declared_at", place, "eval()"),) if place is not None else (),
                    certain=False,
                    module=model,
                    advice="leave this train() out, and call it after the validation",
                )


def _forwards(timeline: Timeline, model: str) -> Iterator[tuple[TrainingCall | None, TrainingCall]]:
    """A model's forwards without gradients, and the train() that came after an eval() since the last backward."""
    rested, train = False, None
    for one in timeline.moments:
        call = one.call
        if one.backward is not None:
            rested, train = False, None
        elif call is not None and call.module == model:
            if call.kind is EVAL:
                rested, train = call.count > 0, None
            elif call.kind is TRAIN:
                train = call if rested and call.total else train
                rested = False
            elif call.kind is FORWARD and not call.total:
                yield train, call
