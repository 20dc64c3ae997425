"""Where a program decides that something is done around a call: the decorator above a function, or a `with`.

The surprise: no frame of a call ever stands at its decorator, whose line ran long before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.site import Site, Stack, user_frames

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)


def wrapping_line(case: Case, stack: Stack, inside: Stack) -> Site | None:
    """The line by which what happened under `stack` came to be done around what is `inside`, where both are in one
    call of a wrapper; or the `with` that did it."""
    frames = user_frames(stack)
    return _decorator(case, frames, user_frames(inside)) or _with(case, frames)


def _with(case: Case, frames: Stack) -> Site | None:
    """The head of a `with` that called a function of the program's, as one before a yield."""
    if len(frames) < 2:
        return None
    statement = syntax(case).statement(frames[1])
    is_head = isinstance(statement, ast.With) and frames[1].line < statement.body[0].lineno
    return frames[1] if is_head else None


def _decorator(case: Case, frames: Stack, inside: Stack) -> Site | None:
    around = len(frames) - 1  # callers of the wrapper
    if not frames or len(inside) <= len(frames) or inside[len(inside) - around :] != frames[1:]:
        return None
    wrapper = len(inside) - around - 1
    if not inside[wrapper].is_in_function_of(frames[0]):
        return None
    makers = set(_functions_around(case, frames[0]))
    for frame in reversed(inside[:wrapper]):
        function = syntax(case).function(frame)
        for decorator in function.decorator_list if isinstance(function, _FUNCTIONS) else ():
            if last_name(decorator.func if isinstance(decorator, ast.Call) else decorator) in makers:
                return syntax(case).site(frame.file, decorator.lineno, frame.function)
    return None


def _functions_around(case: Case, site: Site) -> Iterator[str]:
    """The names of the functions, and classes, in which the one around a line is defined."""
    own = syntax(case).function(site)
    for one in syntax(case).nodes(site.file):
        if (
            isinstance(one, (*_FUNCTIONS, ast.ClassDef))
            and one is not own
            and one.lineno <= site.line <= (one.end_lineno or 0)
        ):
            yield one.name
