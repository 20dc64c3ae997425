"""Where a line stands in its function, and which statements leave between two lines.

The surprise: a `finally` is come to on each way, and the other branch of an `if` on none.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, auto

_LEAVES = (ast.Return, ast.Continue, ast.Break)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FIELDS = ("body", "handlers", "orelse", "finalbody")


class Passing(Enum):
    """What keeps a run from a line: a condition around it, an exception that is caught next to it, or any other one."""

    NOTHING = auto()
    CONDITION = auto()
    CAUGHT = auto()
    RAISED = auto()


@dataclass(frozen=True, slots=True)
class Step:
    """A statement around a line, or the line's own: in which part of what it is, behind what of the same block."""

    parent: ast.AST
    part: str
    before: tuple[ast.stmt, ...]
    own: ast.AST


@dataclass(frozen=True, slots=True)
class Place:
    """A line of a function, with the statements around it, the outermost first."""

    function: ast.AST
    line: int
    steps: tuple[Step, ...]

    @property
    def parts(self) -> dict[int, str]:
        """By the identity of each compound statement around it: in which of its parts it is."""
        return {id(step.parent): step.part for step in self.steps}


def place_of(function: ast.AST, line: int) -> Place:
    """Where a line stands."""
    steps, node = list[Step](), function
    while True:
        step = next(_into(node, line), None)
        if step is None:
            return Place(function, line, tuple(steps))
        steps.append(step)
        node = step.own
        if isinstance(node, _SCOPES):
            return Place(function, line, tuple(steps))


def _into(node: ast.AST, line: int) -> Iterator[Step]:
    for part in _FIELDS:
        block = getattr(node, part, ())
        for at, one in enumerate(block if isinstance(block, list) else ()):
            if one.lineno <= line <= (one.end_lineno or one.lineno):
                yield Step(node, part, tuple(block[:at]), one)


def is_apart(one: Place, other: Place) -> bool:
    """Whether two lines are in different branches, so that one run comes to only one of them."""
    parts = other.parts
    return any(
        isinstance(step.parent, ast.If) and parts.get(id(step.parent), step.part) != step.part for step in one.steps
    )


def leaves_between(start: Place, ends: Sequence[Place]) -> Iterator[tuple[int, Place]]:
    """The statements that leave between a line and others without one of those, and which one each leaves out."""
    lines = {end.line for end in ends if end.line > start.line}
    for node in sorted(_statements(start.function), key=lambda one: one.lineno):
        if isinstance(node, _LEAVES) and node.lineno > start.line:
            leave = place_of(start.function, node.lineno)
            left_out = [end for end in ends if end.line > node.lineno and _is_left_out(leave, end, node)]
            comes_by = any(_is_on_each_way(leave, end) for end in ends) or _comes_by(leave, lines)
            if left_out and not comes_by and not is_apart(start, leave):
                yield node.lineno, left_out[0]


def _statements(function: ast.AST) -> Iterator[ast.stmt]:
    """The statements of a function without those of the functions in it."""
    waiting: list[ast.AST] = [function]
    while waiting:
        node = waiting.pop()
        for part in _FIELDS if node is function or not isinstance(node, _SCOPES) else ():
            block = getattr(node, part, ())
            waiting += block if isinstance(block, list) else ()
        if isinstance(node, ast.stmt):
            yield node


def _is_on_each_way(leave: Place, end: Place) -> bool:
    """Whether a line is in a `finally` around a statement that leaves."""
    parts = leave.parts
    return any(step.part == "finalbody" != parts.get(id(step.parent), "finalbody") for step in end.steps)


def _is_left_out(leave: Place, end: Place, node: ast.stmt) -> bool:
    """Whether a later line isn't come to in this round where this leaves."""
    loops = [step.parent for step in leave.steps if isinstance(step.parent, _LOOPS) and step.part == "body"]
    return isinstance(node, ast.Return) or (bool(loops) and end.parts.get(id(loops[-1])) == "body")


def _comes_by(leave: Place, lines: set[int]) -> bool:
    """Whether one of some lines is run before in a block around it, under no condition of its own."""
    before = (one for step in leave.steps for one in step.before if not isinstance(one, ast.If))
    return any(one.lineno <= line <= (one.end_lineno or line) for one in before for line in lines)


def what_passes(start: Place, end: Place) -> Passing:
    """What may keep a run that comes to one line from a later one."""
    known = start.parts
    if any(step.part == "finalbody" for step in end.steps):
        return Passing.NOTHING
    if any(isinstance(step.parent, ast.If) and id(step.parent) not in known for step in end.steps):
        return Passing.CONDITION
    tried = (step for step in end.steps if isinstance(step.parent, ast.Try) and step.part in ("body", "orelse"))
    if any(step.parent.handlers for step in tried if isinstance(step.parent, ast.Try)):
        return Passing.CAUGHT
    return Passing.RAISED
