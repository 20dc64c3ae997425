"""The branch of one rank that writes what all of them then make an optimizer with."""

from __future__ import annotations

import ast

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.chosen import chosen_by_rank
from gradscope.ranks.source.deciding import asks_for_rank
from gradscope.ranks.source.given import Frame, frames_of, passed_to
from gradscope.ranks.source.syntax import Function, at_line
from gradscope.store.reader import Recording

_PARAMETERS = "params"  # as optimizers call what they train
_CHANGES = frozenset(("update", "setdefault", "pop", "merge", "merge_with_dotlist", "__setitem__"))


def written_for_a_rank(recording: Recording, stack: Stack) -> Site | None:
    """The condition that asks for the rank and under which something is written that a call then uses, in the function
    of a frame, or of those that hand it over; else the choice by the rank from which it comes."""
    frames = frames_of(recording, stack)
    names = _names_on(frames[0]) if frames else set()
    for at, frame in enumerate(frames):
        found = _written(frame, names)
        if found is not None:
            return at_line(recording, frame.site, found)
        passed = [passed_to(frames, at, name) for name in sorted(names)]
        names = {name for value in passed if value is not None for name in _variables(value)}
    given = _given(frames[0]) if frames else []
    return next(filter(None, (chosen_by_rank(recording, frames, value) for value in given)), None)


def _variables(value: ast.expr) -> set[str]:
    return names_in(value)


def _names_on(frame: Frame) -> set[str]:
    """The variables in the settings that calls on a line are given."""
    return {name for value in _given(frame) for name in _variables(value)}


def _given(frame: Frame) -> list[ast.expr]:
    """The settings that calls on a line are given, behind the parameters."""
    calls = [
        node
        for node in ast.walk(frame.function)
        if isinstance(node, ast.Call) and node.lineno <= frame.site.line <= (node.end_lineno or 0)
    ]
    given = [value for call in calls for value in call.args[1:]]
    return given + [one.value for call in calls for one in call.keywords if one.arg != _PARAMETERS]


def _written(frame: Frame, names: set[str]) -> int | None:
    """The last condition above a line that asks for the rank, and under which one of some variables is written."""
    if not isinstance(frame.function, Function):
        return None
    line = frame.site.line
    ifs = [node for node in ast.walk(frame.function) if isinstance(node, ast.If) and (node.end_lineno or 0) < line]
    own = [one.lineno for one in ifs if asks_for_rank(one.test) and _writes(one, names)]
    return max(own, default=None)


def _writes(branch: ast.If, names: set[str]) -> bool:
    nodes = (each for part in (*branch.body, *branch.orelse) for each in ast.walk(part))
    return any(_held_by(value) in names for node in nodes for value in _written_by(node))


def _written_by(node: ast.AST) -> list[ast.expr]:
    """What an assignment, or a call that changes what it is called of, writes."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return [node.target]
    if isinstance(node, ast.Call) and called_name(node) in _CHANGES and isinstance(node.func, ast.Attribute):
        return [node.func.value]
    return []


def _held_by(value: ast.expr) -> str | None:
    """`config` of `config.optim["lr"]`."""
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        value = value.value
    return value.id if isinstance(value, ast.Name) else None
