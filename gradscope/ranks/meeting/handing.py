"""Who hands on what does not fit: the caller of a helper that sends its argument, and what a model is built with."""

from __future__ import annotations

import ast

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.given import Frame, bound_in, frames_of, passed_to, sent_by, unconverted
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_SEVERAL = 2  # lines that call a helper: it is one for all, and what it is given is their affair
_LONGEST = 8  # names in a row


def handed_by(recording: Recording, stack: Stack) -> Site | None:
    """The line that gives a helper the tensor which its collective sends as it is, where others call it as well."""
    frames = frames_of(recording, stack)
    given = None if not frames else sent_by(frames[0])
    at = 0
    while given is not None and at < len(frames):
        name = _as_it_is(frames[at], given)
        passed = passed_to(frames, at, name) if name else None
        if passed is None or not _is_called_elsewhere(recording, frames[at]):
            break
        at, given = at + 1, passed
    return frames[at].site if at else None


def _as_it_is(frame: Frame, value: ast.expr) -> str:
    """The parameter that a value is, or is converted from; empty where it is something else."""
    line = frame.site.line
    for _ in range(_LONGEST):
        value = unconverted(value)
        bound = bound_in(frame, value.id, line) if isinstance(value, ast.Name) else None
        if bound is None:
            break
        line, value = bound
    return value.id if isinstance(value, ast.Name) else ""


def _is_called_elsewhere(recording: Recording, frame: Frame) -> bool:
    name = getattr(frame.function, "name", None)
    lines = {
        (file, node.lineno)
        for file in recording.sources()
        for node in nodes_of(tree_of(recording, Site(file, 1)))
        if isinstance(node, ast.Call) and called_name(node) == name
    }
    return len(lines) >= _SEVERAL


def built_with(recording: Recording, stack: Stack) -> Site | None:
    """The one line that computes an argument of the model that a wrapper is given; None where there are several."""
    frames = frames_of(recording, stack)
    if not frames:
        return None
    frame = frames[0]
    found = {
        line
        for call in _on_line(frame)
        for given in call.args[:1]
        for line in _computed(frame, _model(frame, given), frame.site.line)
    }
    return at_line(recording, frame.site, found.pop()) if len(found) == 1 else None


def _on_line(frame: Frame) -> list[ast.Call]:
    """The outermost call on a frame's line."""
    line = frame.site.line
    calls = [node for node in ast.walk(frame.function) if isinstance(node, ast.Call)]
    return [node for node in calls if node.lineno <= line <= (node.end_lineno or 0)][:1]


def _model(frame: Frame, given: ast.expr) -> ast.expr:
    """What makes a model that a wrapper is given."""
    for _ in range(_LONGEST):
        given = unconverted(given)
        bound = bound_in(frame, given.id, frame.site.line) if isinstance(given, ast.Name) else None
        if bound is None:
            return given
        given = bound[1]
    return given


def _computed(frame: Frame, made: ast.expr, line: int) -> list[int]:
    """The lines by which names in the arguments of a call are bound to what another call gives, in one function."""
    if not isinstance(made, ast.Call) or isinstance(frame.function, ast.Lambda):
        return []
    given = [*made.args, *(one.value for one in made.keywords)]
    names = {node.id for one in given for node in ast.walk(one) if isinstance(node, ast.Name)}
    bound = [bound_in(frame, name, line) for name in sorted(names)]
    return [
        one[0]
        for one in bound
        if one is not None
        and any(isinstance(node, ast.Call) for node in ast.walk(one[1]))
        and _is_in(frame.function, one[0])
    ]


def _is_in(function: ast.AST, line: int) -> bool:
    if not isinstance(function, Function):
        return True
    return function.lineno <= line <= (function.end_lineno or 0)
