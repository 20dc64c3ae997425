"""GS875: a schedule that is laid out for more steps than the run has."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import called_name, last_name
from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.model.training import AIM, SCHEDULE

_LENGTHS = ("num_training_steps", "total_steps", "T_max", "total_iters", "max_steps", "num_steps", "t_total")
_ONE_CYCLE, _BY_FUNCTION, _WARMUP = "OneCycleLR", "LambdaLR", "warm"
_LAST, _OFTEN = 8, 0.8  # rates at the end; steps of all in which the rate changes
_HIGH = 0.3  # of the largest rate: where one that falls on is cut short
_STEPS = 24  # of which something is said


def schedule_cut_short(case: Case) -> Iterator[Cause]:
    """What it flags: a schedule that lowers the learning rate in each step, and is far from done when the run ends.

    Why: a schedule counts its own steps. One that was given batches where it is stepped once for several of them, or
    once an epoch, warms up too long and never comes down: the run ends with nearly the largest rate.

    Wrong:
        scheduler = cosine(optimizer, num_training_steps=epochs * len(loader))
        for at, batch in enumerate(loader):
            if at % accumulate == 0:
                optimizer.step()
                scheduler.step()

    Right:
        scheduler = cosine(optimizer, num_training_steps=epochs * len(loader) // accumulate)

    Do instead: give the schedule the number of times that it will be stepped.

    How it is found: the rate of each group, where it changes. It changed in nearly every step, fell at the end and did
    not slow down in that, as one that comes to its end or goes on for ever does, and was three tenths of its largest
    value still. Or it rose to the end in a OneCycleLR, or by a function of the program's own that knows a warm-up. A
    hint: a run may be meant to end early.
    """
    rates: dict[int, list[float]] = defaultdict(list)
    for one in case.learning_rates():
        if one.count != AIM and one.group == 0:
            rates[one.optimizer].append(one.value)
    for optimizer, values in rates.items():
        calls = [
            call for timeline in timelines(case) for _, call in timeline.of(SCHEDULE) if call.optimizer == optimizer
        ]
        if calls and len(values) >= max(_STEPS, _OFTEN * len(calls)):
            share = round(100 * values[-1] / max(values))
            told = (
                f"the run ends with {share} % of the largest learning rate, in the middle of a schedule that lowers it"
            )
            if not _falls_on(values):
                if not _rises_on(case, values):
                    continue
                told = "the run ends while the learning rate still rises: the schedule would lower it after that"
            line = _length(case)
            related = (Related("called_at", calls[-1].site, "its step"),) if line is not None else ()
            yield Cause(told, line or calls[-1].site, related, certain=False)


def _rises_on(case: Case, values: list[float]) -> bool:
    """Whether all rates rise, where the only schedule of the program is one that warms up and comes down again."""
    calls = [one for file in syntax(case).files for one in syntax(case).nodes(file) if isinstance(one, ast.Call)]
    schedules = {name for one in calls if (name := called_name(one)).endswith("LR")}
    is_known = schedules == {_ONE_CYCLE} or (schedules == {_BY_FUNCTION} and _knows_a_warmup(case))
    return is_known and all(before < after for before, after in pairwise(values))


def _knows_a_warmup(case: Case) -> bool:
    """Whether a function of the program's decides by the length of a warm-up what it gives."""
    return any(
        isinstance(one, ast.Compare) and _WARMUP in ast.unparse(one).lower()
        for file in syntax(case).files
        for function in syntax(case).nodes(file)
        if isinstance(function, ast.FunctionDef | ast.Lambda)
        for one in ast.walk(function)
    )


def _falls_on(values: list[float]) -> bool:
    """Whether the last rates fall, each by no less than the one before, and are large still."""
    last = values[-_LAST:]
    falls = [before - after for before, after in pairwise(last)]
    slower = any(after < 0.99 * before for before, after in pairwise(falls))
    return min(falls) > 0 and not slower and values[-1] >= _HIGH * max(values)


def _length(case: Case) -> Site | None:
    """The only line that gives a schedule its length, be it by a name of its own, or else what the only schedule of a
    program is made with."""
    named = set(_named_lengths(case))
    if len(named) == 1:
        return named.pop()
    calls = [
        (file, one) for file in syntax(case).files for one in syntax(case).nodes(file) if isinstance(one, ast.Call)
    ]
    lengths = [(file, one.value) for file, call in calls for one in call.keywords if one.arg in _LENGTHS]
    made = [(file, call.args[1]) for file, call in calls if called_name(call).endswith("LR") and len(call.args) > 1]
    found = {syntax(case).site(file, value.lineno) for file, value in lengths or made}
    return found.pop() if len(found) == 1 else None


def _named_lengths(case: Case) -> Iterator[Site]:
    """The lines that give the length of a schedule: `total_steps = ...`, or what a function of that name returns."""
    for file in syntax(case).files:
        for one in syntax(case).nodes(file):
            if isinstance(one, ast.Assign) and any(last_name(target) in _LENGTHS for target in one.targets):
                yield syntax(case).site(file, one.lineno)
            elif isinstance(one, ast.FunctionDef) and one.name in _LENGTHS:
                yield from (syntax(case).site(file, at.lineno) for at in ast.walk(one) if isinstance(at, ast.Return))
