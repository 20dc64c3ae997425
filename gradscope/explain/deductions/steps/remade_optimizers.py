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
from gradscope.explain.evidence.dataflow import runs_optimizer
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.functions.source import called_name
from gradscope.model.flow import GradientState, OptimizerLook
from gradscope.model.operation import Operation
from gradscope.model.site import Stack
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
