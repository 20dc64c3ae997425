"""A train() at the top of a step that a helper's eval() takes back before the forward that trains.

The helper wants evaluation mode for forwards of its own, without gradients, and leaves the model so. What shows that
nobody means it is the same forward in training mode, in the steps in which the helper isn't called.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.timeline import Timeline
from gradscope.model.finding import Related
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import EVAL, FORWARD, SCALED_STEP, STEP, TRAIN, TrainingCall

_TIMES = 3  # steps in training mode, and steps after a train() that was taken back


@dataclass(slots=True)
class _Forwards:
    """What is seen of the forwards with gradients on one line: in training mode, after such a train(), and others."""

    trained: int = 0
    undone: list[tuple[int, TrainingCall, TrainingCall]] = field(default_factory=list)
    is_otherwise_at_rest: bool = False
    optimizers: dict[bool, set[int | None]] = field(default_factory=lambda: {True: set(), False: set()})

    @property
    def is_told(self) -> bool:
        """Whether the helper alone decides in which mode the line trains, with the optimizers of before."""
        often = self.trained >= _TIMES and len({at for at, _, _ in self.undone}) >= _TIMES
        return often and not self.is_otherwise_at_rest and self.optimizers[False] <= self.optimizers[True]


def undone_trains(timeline: Timeline) -> Iterator[Cause]:
    """Each eval() that takes the train() of a model's steps back so."""
    trained = (call for _, call in timeline.of(FORWARD) if call.total and call.count)
    for model in dict.fromkeys(call.module for call in trained if call.module):
        for found in _lines(timeline, model).values():
            if found.is_told:
                _, train, switch = found.undone[0]
                yield Cause(
                    f"this takes the train() of {model} back, for forwards of its own: {len(found.undone)} forwards "
                    "that train come after it, in evaluation mode",
                    switch.site,
                    (Related("called_at", train.site, "train()"),),
                    module=model,
                    advice="call train() again where this helper ends, or after it, before the forward that trains",
                )


def _lines(timeline: Timeline, model: str) -> dict[Site | None, _Forwards]:
    """The lines on which a model runs with gradients."""
    found: dict[Site | None, _Forwards] = defaultdict(_Forwards)
    train: tuple[int, TrainingCall] | None = None
    switch, own, waiting = None, list[TrainingCall](), list[tuple[_Forwards, bool]]()
    models = {call.module for _, call in timeline.of(FORWARD)}
    for at, call in timeline.of(TRAIN, EVAL, FORWARD, STEP, SCALED_STEP):
        if call.kind is TRAIN and call.count and call.module not in models:
            switch = None  # a part of it is put back by itself: what rests then is chosen
        elif call.kind in (STEP, SCALED_STEP):
            for line, mode in waiting:
                line.optimizers[mode].add(call.optimizer)
            waiting = []
        elif call.module != model:
            continue
        elif call.kind is TRAIN:
            train, switch, own = ((at, call) if call.total else None), None, []
        elif call.kind is EVAL:
            switch, own = (call if call.count and call.total else switch), []
        elif not call.total:
            own.append(call)
        else:
            line, mode = found[call.site], bool(call.count)
            waiting.append((line, mode))
            if mode:
                line.trained += 1
            elif train is not None and switch is not None and _serves(switch, own, train[1], call):
                line.undone.append((*train, switch))
            else:
                line.is_otherwise_at_rest = True
    return dict(found)


def _serves(switch: TrainingCall, own: list[TrainingCall], train: TrainingCall, forward: TrainingCall) -> bool:
    """Whether an eval() is called in a helper, for its own forwards alone, which neither trains nor calls train()."""
    common = _common(switch.stack, forward.stack)
    in_helper = len(user_frames(switch.stack)) > common + 1
    is_theirs = bool(own) and all(_common(switch.stack, one.stack) > common for one in own)
    return in_helper and is_theirs and _common(switch.stack, train.stack) <= common


def _common(one: Stack, other: Stack) -> int:
    """How many calls two stacks have in common, from the outermost on."""
    pairs = zip(reversed(user_frames(one)), reversed(user_frames(other)), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
