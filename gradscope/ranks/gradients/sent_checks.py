"""A check for values that are not finite, of which one rank's answer is sent to all: what others find is lost."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gradscope.functions.source import called_name, names_in
from gradscope.model.birth import Birth
from gradscope.model.operation import Operation
from gradscope.model.rank import Rank
from gradscope.model.site import Site, Stack
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, frames_of, parameters_of, passed_to
from gradscope.ranks.source.syntax import statements
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_CHECKS = frozenset(("isfinite", "isnan", "isinf"))
_SENDS = frozenset(("broadcast", "broadcast_object_list"))
_GIVEN = ("tensor", "object_list")  # as these call what they send
OPERATORS = ("c10d.broadcast", "_c10d_functional.broadcast")
_NEEDS = ast.If | ast.While | ast.Return | ast.Assign | ast.AnnAssign  # statements by which something is decided


@dataclass(frozen=True, slots=True)
class SentCheck:
    """The line that sends the answer, and the rank whose answer it is."""

    site: Site
    root: int


def sent_check(ranks: Ranks, one: Rank, recording: Recording, backward: int) -> SentCheck | None:
    """The last such check on the way of a rank to a backward whose loss is not finite, of that loss, or of data that
    were not finite when the model was given them; None where the rank's own answer is what is sent."""
    for operation in reversed(ways_of(recording).get(backward, [])):
        if operation.name.startswith(OPERATORS):
            root = root_of(ranks, operation)
            if root not in (None, one.rank) and is_of_this_step(recording, operation.stack, backward, _checked):
                return None if operation.site is None or root is None else SentCheck(operation.site, root)
    return None


def root_of(ranks: Ranks, operation: Operation) -> int | None:
    """The rank that a line sends from; None where that is not the same each time."""
    same = (each for each in ranks.collectives if (each.operator, each.site) == (operation.name, operation.site))
    roots = {each.peer for each in same}
    return roots.pop() if len(roots) == 1 else None


def is_of_this_step(
    recording: Recording, stack: Stack, backward: int, asked: Callable[[ast.expr], list[ast.expr]]
) -> bool:
    """Whether what is sent is needed, and comes of asking what a backward starts from, or the model is given before it;
    `asked`: what an expression asks about, if it does."""
    frames = frames_of(recording, stack)
    sent = what_is_sent(frames[0]) if frames else None
    if sent is None or not is_needed(frames[0], sent):
        return False
    passed: list[tuple[list[Frame], ast.expr]] = []

    def noted(around: list[Frame], value: ast.expr) -> ast.expr:
        passed.append((around, value))
        return value

    if origin(recording, frames, sent, lambda value: bool(asked(value)), noted) is None:
        return False
    around, value = passed[-1]
    ends = list(_ends(recording, backward))
    return any(
        names & _named_at(recording, end, frame.site, whole)
        for frame, names in handed(around, asked(value))
        for end, whole in ends
    )


def what_is_sent(frame: Frame) -> ast.expr | None:
    """What a line of a frame sends."""
    for node in ast.walk(frame.function):
        if isinstance(node, ast.Call) and called_name(node) in _SENDS and is_at(node, frame.site.line):
            by_name = (one.value for one in node.keywords if one.arg in _GIVEN)
            return next(iter((*node.args[:1], *by_name)), None)
    return None


def is_needed(frame: Frame, sent: ast.expr) -> bool:
    """Whether something below a line is decided, kept or returned by what was sent."""
    names, line = names_in(sent), frame.site.line
    below = (node for node in ast.walk(frame.function) if isinstance(node, _NEEDS) and node.lineno > line)
    read = (node.test if isinstance(node, ast.If | ast.While) else node.value for node in below)
    return any(value is not None and names & names_in(value) for value in read)


def _checked(value: ast.expr) -> list[ast.expr]:
    """What is asked, in a value, whether it is finite."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call) and called_name(node) in _CHECKS]
    called = [one.func.value for one in calls if isinstance(one.func, ast.Attribute) and not one.args]
    return [*(one for call in calls for one in call.args), *called]


def handed(frames: list[Frame], checked: list[ast.expr]) -> Iterator[tuple[Frame, set[str]]]:
    """The names of what is checked, in each function that hands it on, the innermost first."""
    names = {name for one in checked for name in names_in(one)}
    for at, frame in enumerate(frames):
        yield frame, names
        values = (passed_to(frames, at, name) for name in names & {*parameters_of(frame.function)})
        names = {name for value in values if value is not None for name in names_in(value)}


def _ends(recording: Recording, backward: int) -> Iterator[tuple[Stack, bool]]:
    """The calls in which what is not finite was met: that of the backward, and True; that of the model, where none of
    its operators made it of what is finite."""
    yield from ((one.stack, True) for one in recording.backwards() if one.number == backward)
    births = sorted((one for one in recording.births() if one.step == backward), key=lambda one: one.number)
    if births and births[0].backward is None and _was_there(births[0]):
        yield births[0].stack, False


def _was_there(birth: Birth) -> bool:
    """Whether an operator did not make what is not finite: it was given that, or no other tensor that is finite."""
    return birth.came_in or (birth.device is None and all(one.shape is None for one in birth.given))


def _named_at(recording: Recording, stack: Stack, after: Site, whole: bool) -> set[str]:
    """The names on the line of a function at which it came to an end, below another line of it; those that calls are
    given there, if not `whole`."""
    lines = [site.line for site in stack if site.is_in_function_of(after) and site.line > after.line]
    nodes = [node for node in statements(recording, after) if lines and is_at(node, lines[-1])]
    if not nodes:
        return set()
    node = max(nodes, key=lambda one: one.lineno)
    given = (one for call in ast.walk(node) if isinstance(call, ast.Call) for one in _arguments(call))
    return names_in(node) if whole else {name for one in given for name in names_in(one)}


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    """What a call is given, but for the functions of calls in it."""
    for one in (*call.args, *(each.value for each in call.keywords)):
        if not isinstance(one, ast.Call):
            yield one


def is_at(node: ast.stmt | ast.expr, line: int) -> bool:
    """Whether something stands on a line, or reaches over it."""
    return node.lineno <= line <= (node.end_lineno or 0)
