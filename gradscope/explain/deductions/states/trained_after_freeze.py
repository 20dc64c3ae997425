"""Finds the train() that comes behind a freeze: it says of what is frozen that it is in training mode as well.

The surprise: it need not change anything. A module is born in training mode, and train() is what leaves it there.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import partial

from gradscope.explain.deductions.states.woken_by_train import Around, is_own, module_name
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline, timelines
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall

_FAR = 4  # functions in one another that freeze
_BUILDS = "__init__"


def trained_after(case: Case, stacks: set[Stack], freezes: Sequence[Site]) -> TrainingCall | None:
    """The first train() of a model around these layers that runs behind each of the lines that freeze something.

    One that has run before them as well belongs to the training in which nothing was frozen. None where the program has
    a train() for the frozen part by itself, which is meant.
    """
    around = Around(case, stacks)
    for timeline in timelines(case) if freezes else ():
        calls = [(at, one) for at, one in timeline.of(TRAIN) if is_own(one)]
        behind = {at for at, one in calls if all(_is_behind(case, one.stack, site) for site in freezes)}
        before = {one.site for at, one in calls if at not in behind}
        held = [(at, one) for at, one in calls if at in behind and around.holds(one)]
        for at, one in held if not any(module_name(one) in around.parts for _, one in held) else ():
            if one.site not in before and _is_run_in_training(timeline, at, one, around):
                return one
    return None


def _is_run_in_training(timeline: Timeline, at: int, train: TrainingCall, around: Around) -> bool:
    """Whether such a model is called in training mode next, and no other of its class beside it: a teacher, say."""
    called = [one for place, one in timeline.of(FORWARD) if place > at and module_name(one) == module_name(train)]
    after = ((place, one) for place, one in timeline.of(EVAL, FORWARD) if place > at and around.holds(one))
    following = next(after, None)
    is_trained = following is not None and following[1].kind is FORWARD and following[1].count == 1
    return is_trained and len({one.module for one in called}) == 1


def _is_behind(case: Case, stack: Stack, freeze: Site) -> bool:
    """Whether a call runs behind a line: in the function of that line, or in one that calls it at one place alone."""
    frames = user_frames(stack)
    line: Site | None = freeze
    for _ in range(_FAR):
        function = None if line is None else syntax(case).function(line)
        if line is None or function is None:
            return False
        for frame in frames:
            if frame.file == line.file and syntax(case).function(frame) is function:
                return frame.line > line.line
        line = _only_call(case, line.file, function)
    return False


def _only_call(case: Case, file: str, function: ast.AST) -> Site | None:
    """The only line of its file, or else of the program, that calls a function, or builds an object of a class."""
    name = getattr(function, "name", None)
    if name == _BUILDS:
        owners = (one for one in syntax(case).nodes(file) if isinstance(one, ast.ClassDef) and function in one.body)
        name = next((one.name for one in owners), None)
    wanted = partial(_calls, name)
    found = [] if name is None else list(syntax(case).calls(file, wanted)) or list(syntax(case).everywhere(wanted))
    return found[0] if len(found) == 1 else None


def _calls(name: str | None, node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called_name(node) == name
