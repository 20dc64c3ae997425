"""Whether an epoch that a function trains goes through a list of batches which was made before all epochs.

Told by the source, where a run is too long for the batches of each epoch to be followed: from the loop over batches
back, through the calls that hand the list over, to the line before the loop over epochs that made it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import handed_in
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack

_SAME = ("enumerate", "zip", "tqdm", "reversed", "list")  # what changes none of what it is given
_MAKE_LISTS = ("list", "tuple", "sorted")
_CHANGES = ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault")


def goes_through_one_list(case: Case, own: Stack) -> bool:
    """Whether the only loop behind the line that makes an optimizer, at the top of a stack, is over such a list."""
    for place, frame in enumerate(own):
        passes = _behind(case, frame)
        if len(passes) == 1 and not _loops_in(passes[0]):
            return any(_is_made_before(case, own[place:], name) for name in _over(passes[0].iter))
        if passes or syntax(case).loop(frame) is not None:
            return False
    return False


def _behind(case: Case, frame: Site) -> list[ast.For]:
    """The loops over something that come after a line, in the same block."""
    function, statement = syntax(case).function(frame), syntax(case).statement(frame)
    for block in _blocks(function):
        if statement in block:
            later = block[block.index(statement) + 1 :] if statement is not None else []
            return [one for one in later if isinstance(one, ast.For)]
    return []


def _blocks(function: ast.AST | None) -> Iterator[list[ast.stmt]]:
    for node in ast.walk(function) if function is not None else ():
        body = getattr(node, "body", None)
        if isinstance(body, list):
            yield body


def _loops_in(loop: ast.For) -> bool:
    return any(isinstance(one, ast.For | ast.While) for part in loop.body for one in ast.walk(part))


def _over(value: ast.expr) -> Iterator[str]:
    """The names that a loop goes over: `tasks`, `enumerate(tasks)`, `zip(xs, ys)`."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, ast.Call) and called_name(value) in _SAME:
        for one in value.args:
            yield from _over(one)


def _is_made_before(case: Case, own: Stack, name: str) -> bool:
    """Whether a name stands for a list that is made before the loop over epochs, and stays as it is."""
    for place, frame in enumerate(own):
        function, loop = syntax(case).function(frame), syntax(case).loop(frame)
        if function is None or any(_changes(one, name) for one in ast.walk(function)):
            return False
        if loop is not None:
            return _is_a_list_before(function, loop, name)
        given = handed_in(case, own[place:], function, name) if isinstance(function, ast.FunctionDef) else None
        if not isinstance(given, ast.Name) or _given_to(function, name):
            return False
        name = given.id
    return False


def _is_a_list_before(function: ast.AST, loop: ast.For | ast.While, name: str) -> bool:
    """Whether the only statement of a function that gives a name a value makes a list, and stands before a loop."""
    made = _given_to(function, name)
    makers = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and made[:1] == one.targets]
    return len(made) == 1 == len(makers) and makers[0].lineno < loop.lineno and _is_a_list(makers[0].value)


def _given_to(function: ast.AST, name: str) -> list[ast.Name]:
    """Where a function gives a name a value."""
    names = (one for one in ast.walk(function) if isinstance(one, ast.Name) and one.id == name)
    return [one for one in names if not isinstance(one.ctx, ast.Load)]


def _is_a_list(value: ast.expr) -> bool:
    if isinstance(value, ast.Call):
        return called_name(value) in _MAKE_LISTS
    return isinstance(value, ast.List | ast.Tuple | ast.ListComp)


def _changes(node: ast.AST, name: str) -> bool:
    """`tasks.append(...)`, `tasks[0] = ...`, `del tasks[0]`."""
    if isinstance(node, ast.Subscript):
        return last_name(node.value) == name and not isinstance(node.ctx, ast.Load)
    called = node.func if isinstance(node, ast.Call) else None
    return isinstance(called, ast.Attribute) and called.attr in _CHANGES and last_name(called.value) == name
