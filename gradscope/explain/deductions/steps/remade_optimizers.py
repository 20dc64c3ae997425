"""Optimizers that one line makes again and again over the same parameters, each of which steps before the next is made.

Nothing but these optimizers moves the parameters in between: where a state is loaded, something is frozen or given
other values, or a rate changes, a new training begins and may want a new optimizer.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.deductions.steps.rewritten import is_rewritten
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizer_frames import runs_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.functions.source import called_name
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.operation import Operation
from gradscope.model.site import Stack, user_frames
from gradscope.model.training import (
    ASSIGN,
    FREEZE,
    LEARN,
    LOAD,
    LOAD_NOTHING,
    MADE,
    PARTED,
    RESTORE,
    SCALED_STEP,
    SCHEDULE,
    STEP,
)
from gradscope.store.asked import kept

_LITTLE = 0.5  # of the rate, at least, is left at the end of a round
_LEAST = 3  # optimizers: two are a training and its second phase
_ANOTHER_TRAINING = (LOAD, ASSIGN, LOAD_NOTHING, PARTED, RESTORE, FREEZE, LEARN, SCHEDULE)
_GIVES_VALUES = ("vector_to_parameters", "swap_tensors", "setattr", "set_")


@dataclass(frozen=True, slots=True)
class Round:
    """What one of them did: the backward calls up to the making of the next, and how often it stepped."""

    optimizer: int
    backwards: tuple[int, ...]
    steps: int


@dataclass(frozen=True, slots=True)
class Remade:
    """The optimizers of one line, in order. `look` is the first look at the first of them."""

    stack: Stack
    rounds: tuple[Round, ...]
    look: OptimizerLook

    @property
    def held(self) -> frozenset[int]:
        """The parameters that all of them hold."""
        return frozenset(one.tensor for one in self.look.parameters)


def remade_optimizers(case: Case) -> Iterator[Remade]:
    """Those of each line that made three or more."""
    for timeline in timelines(case):
        made = defaultdict[Stack, list[tuple[int, int]]](list)
        for at, call in timeline.of(MADE):
            if call.optimizer is not None:
                made[call.stack].append((at, call.optimizer))
        for stack, ones in made.items():
            if len(ones) >= _LEAST:
                found = _remade(case, timeline, stack, ones)
                if found is not None:
                    yield found


def remade_since_a_thaw(case: Case) -> Iterator[Remade]:
    """Those of each line that made three or more, the first of which found more to train than one before, which stepped
    on the same line: of the same training, whose later ones found nothing new."""
    for timeline in timelines(case):
        made = [(at, call) for at, call in timeline.of(MADE) if call.optimizer is not None]
        for stack in dict.fromkeys(call.stack for _, call in made):
            ones = [(at, call.optimizer) for at, call in made if call.stack == stack and call.optimizer is not None]
            before = [call.optimizer for at, call in made if at < ones[0][0] and call.optimizer is not None]
            found = _goes_on(case, timeline, stack, ones) if len(ones) >= _LEAST and before else None
            if (
                found is not None
                and _has_more(case, before[-1], found)
                and _is_of_one_loop(timeline, before[-1], found)
            ):
                yield found


def _goes_on(case: Case, timeline: Timeline, stack: Stack, made: list[tuple[int, int]]) -> Remade | None:
    """The optimizers of a line as rounds of one training, in each of which a schedule begins again at most."""
    numbers = [number for _, number in made]
    looks = [_first_looks(case).get(number) for number in numbers]
    first, rounds = looks[0], _rounds(timeline, made)
    if first is None or not all(one is not None and _is_like(one, first) for one in looks):
        return None
    between = [call for at, call in timeline.of(*_ANOTHER_TRAINING) if made[0][0] < at < made[-1][0]]
    if any(call.kind is not SCHEDULE and (call.kind not in (FREEZE, LEARN) or call.count) for call in between):
        return None
    found = Remade(stack, rounds, first)
    steps = Counter(call.optimizer for _, call in timeline.of(STEP, SCALED_STEP))
    is_one = len({one.steps for one in rounds}) == 1 and all(0 < one.steps == steps[one.optimizer] for one in rounds)
    if not is_one or _are_stepped_between(case, timeline, found, (made[0][0], made[-1][0])):
        return None
    return found if _fall_little(case, numbers) and not _are_given_values(case, found) else None


def _are_stepped_between(case: Case, timeline: Timeline, remade: Remade, places: tuple[int, int]) -> bool:
    """Whether an optimizer of another line steps some of the parameters between two places."""
    first, last = places
    steps = {call.optimizer for at, call in timeline.of(STEP, SCALED_STEP) if first < at < last}
    others = steps - {one.optimizer for one in remade.rounds}
    looks = (look for look in case.optimizer_looks() if look.optimizer in others)
    return any(one.tensor in remade.held for look in looks for one in look.parameters)


def _fall_little(case: Case, optimizers: list[int]) -> bool:
    """Whether all have the same rates, none of which falls far: where it does, a cycle is meant to begin anew."""
    rates = {_rates(case).get(number, ()) for number in optimizers}
    values = [value for one in rates for count, _, value in one if count >= 0]
    return len(rates) == 1 and bool(values) and min(values) >= _LITTLE * max(values)


def _has_more(case: Case, before: int, remade: Remade) -> bool:
    """Whether the first of them trains what the one before did, and more."""
    look = _first_looks(case).get(before)
    learned = [
        {tensor for tensor, frozen in _held(one) if not frozen} for one in (look, remade.look) if one is not None
    ]
    return len(learned) > 1 and learned[0] < learned[1]


def _is_of_one_loop(timeline: Timeline, before: int, remade: Remade) -> bool:
    """Whether all step on one line, called in the same way: the one before for whole rounds, too."""
    numbers = {before, *(one.optimizer for one in remade.rounds)}
    steps = [call for _, call in timeline.of(STEP, SCALED_STEP) if call.optimizer in numbers]
    earlier = sum(call.optimizer == before for call in steps)
    lines = {user_frames(call.stack) for call in steps}
    return len(lines) == 1 and earlier > 0 and earlier % remade.rounds[0].steps == 0


def _remade(case: Case, timeline: Timeline, stack: Stack, made: list[tuple[int, int]]) -> Remade | None:
    """The optimizers of a line as rounds; None where a new one may be meant."""
    numbers = [number for _, number in made]
    looks = [_first_looks(case).get(number) for number in numbers]
    first = looks[0]
    if first is None or not first.parameters or not all(one is not None and _is_like(one, first) for one in looks):
        return None
    rounds = _rounds(timeline, made)
    steps = Counter(call.optimizer for _, call in timeline.of(STEP, SCALED_STEP))
    if not all(0 < one.steps == steps[one.optimizer] for one in rounds) or not _keep_one_rate(case, numbers):
        return None
    if any(made[0][0] < at < made[-1][0] for at, _ in timeline.of(*_ANOTHER_TRAINING)):
        return None
    found = Remade(stack, rounds, first)
    return None if _are_stepped_by_others(case, found) or _are_given_values(case, found) else found


@kept
def _first_looks(case: Case) -> dict[int, OptimizerLook]:
    """The looks at optimizers before their first steps, by number."""
    return {look.optimizer: look for look in case.optimizer_looks() if look.count == 0}


def _is_like(look: OptimizerLook, first: OptimizerLook) -> bool:
    """Whether two optimizers are of one class and hold the same parameters, of which the same are frozen."""
    return look.name == first.name and _held(look) == _held(first)


def _held(look: OptimizerLook) -> list[tuple[int, bool]]:
    return [(one.tensor, one.state is GradientState.FROZEN) for one in look.parameters]


@kept
def _rates(case: Case) -> dict[int, tuple[tuple[int, int, float], ...]]:
    """By optimizer: from which step on its groups have which learning rates."""
    found: dict[int, tuple[tuple[int, int, float], ...]] = defaultdict(tuple)
    for one in case.learning_rates():
        found[one.optimizer] += ((one.count, one.group, one.value),)
    return dict(found)


def _keep_one_rate(case: Case, optimizers: list[int]) -> bool:
    """Whether optimizers all have the same rates from the first step to the last."""
    rates = {_rates(case).get(number, ()) for number in optimizers}
    return len(rates) == 1 and all(one and {count for count, _, _ in one} == {0} for one in rates)


def _rounds(timeline: Timeline, made: list[tuple[int, int]]) -> tuple[Round, ...]:
    ends = [at for at, _ in made[1:]] + [len(timeline.moments)]
    return tuple(_round(timeline, at, number, end) for (at, number), end in zip(made, ends, strict=True))


def _round(timeline: Timeline, first: int, number: int, end: int) -> Round:
    moments = timeline.moments[first:end]
    calls = [one.call.optimizer for one in moments if one.call is not None and one.has(STEP, SCALED_STEP)]
    return Round(number, tuple(one.backward.number for one in moments if one.backward is not None), calls.count(number))


def _are_stepped_by_others(case: Case, remade: Remade) -> bool:
    """Whether an optimizer of another line steps some of the parameters, too: what was averaged is stale after it."""
    own = {one.optimizer for one in remade.rounds}
    others = (look for look in case.optimizer_looks() if look.optimizer not in own)
    return any(one.tensor in remade.held for look in others for one in look.parameters)


def _are_given_values(case: Case, remade: Remade) -> bool:
    """Whether anything else than an optimizer may give the parameters values, or an optimizer its state."""
    if any(_gives_values(node) for file in syntax(case).files for node in syntax(case).nodes(file)):
        return True
    if any(is_rewritten(case, tensor) for tensor in remade.held):
        return True
    return _is_written(case, {one.name for one in remade.look.parameters})


def _is_written(case: Case, names: set[str]) -> bool:
    """Whether an operator that no optimizer ran wrote to leaves of these names after the first backward."""
    trained = False
    for block, found in case.blocks_with(lambda one: _writes(one, names)):
        if trained and found:
            return True
        trained = trained or block.backward is not None
    return False


def _writes(operation: Operation, names: set[str]) -> bool:
    return any(one.leaf in names for one in operation.writes) and not runs_optimizer(operation)


def _gives_values(node: ast.AST) -> bool:
    """`weight.data = best`, `optimizer.state = before`, and calls that do so out of sight."""
    if isinstance(node, ast.Attribute):
        return (node.attr == "data" and isinstance(node.ctx, ast.Store)) or (
            node.attr == "state" and "opt" in ast.unparse(node.value).lower()
        )
    return isinstance(node, ast.Call) and called_name(node) in _GIVES_VALUES
