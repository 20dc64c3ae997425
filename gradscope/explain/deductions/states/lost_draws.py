"""Finds lines that draw random numbers in each forward of the training up to its first evaluation, and in none after.

By itself that is no fault: dropout may be switched off for the last epochs on purpose.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.block_calls import calls_by_block
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.chance import draws
from gradscope.model.operation import Block, Operation
from gradscope.model.site import Site
from gradscope.model.training import EVAL, FORWARD, TrainingCall
from gradscope.store.asked import kept

_FEWEST = 3  # forwards of the training, before the evaluation and after it


@dataclass(frozen=True, slots=True)
class LostDraw:
    """An operator that drew in all `before` forwards of the training up to `evaluation`, and in none of those `after`.

    `again` are the evaluations that follow, `trainings` the calls of its model that train.
    """

    operation: Operation
    evaluation: tuple[TrainingCall, ...]
    again: tuple[TrainingCall, ...]
    trainings: tuple[TrainingCall, ...]
    before: int
    after: int


@kept
def lost_draws(case: Case) -> tuple[LostDraw, ...]:
    """One for each line and model, in the order in which they drew first."""
    found: dict[Site | None, LostDraw] = {}
    for blocks, calls in _models(case):
        for one in _lost(blocks, calls):
            found.setdefault(one.operation.site, one)
    return tuple(found.values())


def _models(case: Case) -> Iterator[tuple[list[Block], list[list[TrainingCall]]]]:
    """By model: the stretches of operators in which it trains, and its calls up to the end of each."""
    by_block, called = calls_by_block(case), defaultdict[str | None, dict[int, list[TrainingCall]]](dict)
    for number, calls in by_block.items():
        for call in calls:
            if call.kind in (FORWARD, EVAL):
                called[call.module].setdefault(number, []).append(call)
    for found in called.values():
        blocks = [block for block in case.blocks() if any(map(_trains, found.get(block.number, ())))]
        if len(blocks) >= 2 * _FEWEST:
            yield blocks, [found[block.number] for block in blocks]


def _trains(call: TrainingCall) -> bool:
    return call.kind is FORWARD and bool(call.count and call.total)


def _evaluates(call: TrainingCall) -> bool:
    return call.kind is FORWARD and not call.count


def _tells_evaluation(call: TrainingCall) -> bool:
    return call.kind is EVAL or _evaluates(call)


def _lost(blocks: list[Block], calls: list[list[TrainingCall]]) -> Iterator[LostDraw]:
    first = next((at for at, ones in enumerate(calls) if any(map(_evaluates, ones))), None)
    if first is None:
        return
    places = {_evaluates(call): place for place, call in reversed([*enumerate(calls[first])])}
    last = max(place for place, call in enumerate(calls[first]) if _trains(call))
    change = first if places[True] < last else first + 1
    known = {id(block.operations): block.operations for block in blocks}
    drawn = {key: {one.site: one for one in operations if _draws(one)} for key, operations in known.items()}
    before, after = blocks[:change], blocks[change:]
    if min(len(before), len(after)) < _FEWEST:
        return
    evaluation = tuple(filter(_tells_evaluation, calls[first]))
    again = tuple({call: None for ones in calls[first + 1 :] for call in ones if _tells_evaluation(call)})
    trainings = tuple({call: None for ones in calls for call in ones if _trains(call)})
    for site, operation in drawn[id(before[0].operations)].items():
        stays = all(site in drawn[id(block.operations)] for block in before)
        if stays and not any(site in drawn[id(block.operations)] for block in after):
            yield LostDraw(operation, evaluation, again, trainings, len(before), len(after))


def _draws(operation: Operation) -> bool:
    return operation.grad and operation.site is not None and draws(operation)
