"""Finds the way back that misses train(): an early return, a condition, an exception, or other parts in its place.

The surprise: the eval() is right, and so is the train() below it. Wrong is what lies between, or what train() is of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from gradscope.explain.deductions.lines.settings import calls_at
from gradscope.explain.deductions.states.way_through import (
    Passing,
    Place,
    is_apart,
    leaves_between,
    place_of,
    what_passes,
)
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import Timeline
from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site, Stack, user_frames
from gradscope.model.training import EVAL, FORWARD, TRAIN, TrainingCall


@dataclass(frozen=True, slots=True)
class WayBack:
    """The line by which a model comes out of its evaluation without train(), and why it does."""

    site: Site
    why: str
    train: Site | None = None


def missed_way(case: Case, timeline: Timeline, at: int, switch: TrainingCall) -> WayBack | None:
    """The way on which a model stays as the eval() at a place left it."""
    return _of_others(case, timeline, at, switch) or skipped(case, timeline, switch)


def skipped(case: Case, timeline: Timeline, switch: TrainingCall, certain: bool = False) -> WayBack | None:
    """What skips a train() behind an eval(); with `certain`, only what can't be meant: no condition around train()."""
    frames = user_frames(switch.stack)
    for depth, frame in enumerate(frames):
        function = syntax(case).function(frame)
        trains = _behind(case, timeline, switch, depth) if function is not None else {}
        if function is not None and trains:
            start, ends = place_of(function, frame.line), {line: place_of(function, line) for line in trains}
            return _left(case, frame, start, ends) or _passed(case, timeline, switch, depth, trains, certain)
    return None


def _left(case: Case, frame: Site, start: Place, trains: dict[int, Place]) -> WayBack | None:
    """The first statement that leaves without having come to one of them."""
    for leave, skips in leaves_between(start, list(trains.values())):
        skipped_train = syntax(case).site(frame.file, skips.line)
        return WayBack(
            syntax(case).site(frame.file, leave), "this leaves before train() is called again", skipped_train
        )
    return None


def _passed(
    case: Case, timeline: Timeline, switch: TrainingCall, depth: int, trains: dict[int, bool], certain: bool
) -> WayBack | None:
    """The only train() below, where a condition or an exception passes it by."""
    frame = user_frames(switch.stack)[depth]
    function = syntax(case).function(frame)
    if function is None or len(trains) != 1:
        return None
    ((line, has_run),) = trains.items()
    found = what_passes(place_of(function, frame.line), place_of(function, line))
    site = syntax(case).site(frame.file, line)
    if found is Passing.CONDITION and not certain:
        evaluates = any(_line_in(case, one.stack, switch, depth) for one in _evaluations(timeline, switch))
        return WayBack(site, "train() is called again under a condition alone") if evaluates else None
    if found is Passing.CAUGHT or (found is Passing.RAISED and has_run and not _is_given(case, site)):
        return WayBack(site, "an exception passes this train() by")
    return None


def _is_given(case: Case, site: Site) -> bool:
    """Whether a train() is told the mode."""
    return any(call.args or call.keywords for call in calls_at(case, site))


def _evaluations(timeline: Timeline, switch: TrainingCall) -> Iterator[TrainingCall]:
    """The forwards of a model without gradients."""
    return (one for _, one in timeline.of(FORWARD) if one.module == switch.module and not one.total)


def _behind(case: Case, timeline: Timeline, switch: TrainingCall, depth: int) -> dict[int, bool]:
    """The lines below an eval(), in the same call of a function, that call train(); whether each has been seen to."""
    frame = user_frames(switch.stack)[depth]
    seen = (one for _, one in timeline.of(TRAIN) if one.module == switch.module)
    lines = dict.fromkeys(filter(None, (_line_in(case, one.stack, switch, depth) for one in seen)), True)
    for line in _written(case, frame, list(lines)):
        lines.setdefault(line, False)
    function = syntax(case).function(frame)
    start = None if function is None else place_of(function, frame.line)
    return {
        line: has_run
        for line, has_run in lines.items()
        if line > frame.line and start is not None and function is not None
        if not is_apart(start, place_of(function, line))
    }


def _written(case: Case, frame: Site, known: list[int]) -> Iterator[int]:
    """The lines of its function that call train() of what this line calls eval() of, or what known lines call."""
    owners = {_owner(call) for call in calls_at(case, frame) if called_name(call) in ("eval", "train")} - {""}
    texts = {ast.unparse(call) for line in known for call in calls_at(case, syntax(case).site(frame.file, line))}
    function = syntax(case).function(frame)
    for node in ast.walk(function) if function is not None else ():
        if isinstance(node, ast.Call):
            is_train = called_name(node) == "train" and _owner(node) in owners
            if is_train or ast.unparse(node) in texts:
                yield node.func.end_lineno or node.lineno


def _owner(call: ast.Call) -> str:
    return ast.unparse(call.func.value) if isinstance(call.func, ast.Attribute) else ""


def _line_in(case: Case, stack: Stack, switch: TrainingCall, depth: int) -> int | None:
    """The line at which a stack goes through the same call of a function as a switch."""
    own, frames = user_frames(switch.stack), user_frames(stack)
    outer = len(own) - depth - 1
    if len(frames) <= outer or frames[len(frames) - outer :] != own[depth + 1 :]:
        return None
    frame = frames[len(frames) - outer - 1]
    same = frame.file == own[depth].file and syntax(case).function(frame) is syntax(case).function(own[depth])
    return frame.line if same else None


def _of_others(case: Case, timeline: Timeline, at: int, switch: TrainingCall) -> WayBack | None:
    """The train() of others that were evaluated together with a model, behind this evaluation."""
    before = [one for place, one in timeline.of(FORWARD, EVAL) if place < at]
    together = {one.module for one in takewhile(lambda one: one.kind is EVAL, reversed(before))}
    after = (one for place, one in timeline.of(FORWARD, EVAL, TRAIN) if place > at)
    evaluated = False
    for one in takewhile(lambda one: not (one.kind is FORWARD and one.total), after):
        if one.kind is EVAL:
            together.add(one.module)
        elif one.kind is FORWARD:
            evaluated = evaluated or one.module == switch.module
        elif evaluated and one.count and one.module in together - {switch.module} and is_below(case, one, switch):
            return WayBack(
                _chosen(case, one), f"this puts {one.module} back into training mode, and not all that rests"
            )
    return None


def is_below(case: Case, train: TrainingCall, switch: TrainingCall) -> bool:
    """Whether a call comes below another in the same call of a function."""
    for depth, frame in enumerate(user_frames(switch.stack)):
        line = _line_in(case, train.stack, switch, depth)
        if line is not None:
            return line > frame.line
    return False


def _chosen(case: Case, train: TrainingCall) -> Site:
    """The line that says of what: the one that calls train(), or that hands its function what to call it of."""
    frames = user_frames(train.stack)
    for inner in frames[:-1]:
        function = syntax(case).function(inner)
        if not isinstance(function, ast.FunctionDef) or not _is_handed(case, inner, function):
            return inner
    return frames[-1]


def _is_handed(case: Case, site: Site, function: ast.FunctionDef) -> bool:
    """Whether what a line calls something of comes in as an argument, by way of a loop as well."""
    loop = syntax(case).loop(site)
    looked = [*calls_at(case, site), *([loop.iter] if isinstance(loop, ast.For) else [])]
    own = {one.arg for one in (*function.args.args, *function.args.kwonlyargs)} - {"self", "cls"}
    varying = {one.arg for one in (function.args.vararg,) if one is not None}
    return any(not names_in(one).isdisjoint(own | varying) for one in looked)
