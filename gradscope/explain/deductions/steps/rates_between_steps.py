"""The call that gives an optimizer another rate with each backward, where it steps after several of them only.

A schedule of the program's own, or torch's behind a method, is advanced by a call beside the backward: that is the line
to edit, and not the one inside that sets the rate.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Moment, timelines
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import SCHEDULE

_NEARLY_ALL = 0.75
_FAR = 3  # functions that call one another
_BRANCHES = (ast.If, ast.For, ast.While, ast.FunctionDef)
_LEAVES = (ast.Return, ast.Continue, ast.Break)
Around = set[tuple[int, bool]]  # the branches and loops that a line is in, each with the side on which it is


def advanced_beside_backward(case: Case, optimizer: int, setter: Site) -> Site | None:
    """The only call beside an accumulating backward that leads to the line which sets the rate; None for none."""
    frames = user_frames(_repeated(case, optimizer, of_schedule=False))
    function = syntax(case).function(setter)
    if not isinstance(function, ast.FunctionDef) or any(one.is_in_function_of(setter) for one in frames):
        return None  # what sets it stands beside the backward itself
    names = {function.name}
    for _ in range(_FAR):
        found = {site for frame in frames for site in _beside(case, frame, names)}
        if found:
            return found.pop() if len(found) == 1 else None
        callers = {name for file in syntax(case).files for name in _callers(case, file, names)}
        names = callers - {one.function for one in frames}  # those lead to the backward as well
    return None


def scheduled_beside_backward(case: Case, optimizer: int) -> Site | None:
    """The call beside an accumulating backward that steps torch's schedule, itself or in a function that it calls."""
    frames = user_frames(_repeated(case, optimizer, of_schedule=False))
    steps = user_frames(_repeated(case, optimizer, of_schedule=True))
    return next((one for one in steps if any(one.is_in_function_of(frame) for frame in frames)), None)


def _repeated(case: Case, optimizer: int, of_schedule: bool) -> Stack:
    """What calls backward, or steps the schedule, more than once between two steps of an optimizer."""
    for timeline in timelines(case):
        windows = [
            Counter(one.stack for one in window if _is_wanted(one, optimizer, of_schedule))
            for window in timeline.windows(optimizer)
        ]
        often = [stack for stack in (windows[0] if windows else ()) if _is_usual(windows, stack)]
        if often:
            return often[0] if len(often) == 1 else ()
    return ()


def _is_usual(windows: list[Counter[Stack]], stack: Stack) -> bool:
    """Whether nearly all windows have it several times: the last batches of an epoch may be too few for that."""
    return sum(one[stack] > 1 for one in windows) >= _NEARLY_ALL * len(windows)


def _is_wanted(one: Moment, optimizer: int, of_schedule: bool) -> bool:
    if of_schedule:
        return one.has(SCHEDULE) and one.call is not None and one.call.optimizer == optimizer
    return one.backward is not None


def _beside(case: Case, frame: Site, names: set[str]) -> Iterator[Site]:
    """The calls of these names that run whenever a line of their function does."""
    function = syntax(case).function(frame)
    inside = list(ast.walk(function)) if function is not None else []
    around = _around(inside, frame.line)
    for call in inside:
        if isinstance(call, ast.Call) and called_name(call) in names and _around(inside, call.lineno) == around:
            between = range(*sorted((frame.line, call.lineno)))
            if not any(isinstance(one, _LEAVES) and one.lineno in between for one in inside):
                yield syntax(case).site(frame.file, call.lineno, frame.function)


def _around(nodes: list[ast.AST], line: int) -> Around:
    found = (one for one in nodes if isinstance(one, _BRANCHES) and one.lineno <= line <= (one.end_lineno or 0))
    return {(id(one), line <= (one.body[-1].end_lineno or 0)) for one in found}


def _callers(case: Case, file: str, names: set[str]) -> Iterator[str]:
    """The functions of a file that call one of these names."""
    for call in syntax(case).nodes(file):
        if isinstance(call, ast.Call) and called_name(call) in names:
            function = syntax(case).function(Site(file, call.lineno))
            if isinstance(function, ast.FunctionDef) and not function.name.startswith("__"):
                yield function.name
