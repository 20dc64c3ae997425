"""A call after a backward that keeps what the backward ran through: a memory, a record of losses.

The value crosses into the next round there, and there it should be detached.
"""

from __future__ import annotations

import ast

from gradscope.explain.deductions.memory.carried_state import is_of_self
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.graph import Node
from gradscope.model.site import Site, Stack, user_frames

_TAKES = (
    "Unbind",
    "Select",
    "Slice",
    "Split",
    "SplitWithSizes",
    "UnsafeSplit",
    "Index",
    "IndexSelect",
    "Narrow",
    "Clone",
    "View",
    "Unsqueeze",
    "Squeeze",
)


def kept_after(case: Case, backward: Stack, reader: Stack, name: str | None) -> Site | None:
    """Where a value is kept: the line after a backward that hands it to a function which reads it at once, or the line
    of the function that is handed `name` and stores it on its object."""
    frames = user_frames(backward)
    within = frames[0] if frames else None
    if within is None:
        return None
    reading = user_frames(reader)
    outer = next((site for site in reading[1:] if _is_after(case, site, within)), None)
    return outer or (_stored_by_a_call(case, within, name) if name else None)


def put_away_at(case: Case, backward: Stack, reader: Node | None) -> Site | None:
    """The line after a backward, in its round, that takes parts or a copy of what is kept: it computes nothing, so that
    it is there that the values are put where the next round finds them."""
    if reader is None or reader.name.rstrip("0123456789").removesuffix("Backward") not in _TAKES:
        return None
    reading, frames = user_frames(reader.stack), user_frames(backward)
    places = (site for site in reading for within in frames if _is_later(case, site, within))
    return next(places, None)


def _is_later(case: Case, site: Site, within: Site) -> bool:
    """Whether a line comes after another in the same round of its loop."""
    loop = syntax(case).loop(within)
    is_in = loop is not None and loop.lineno < site.line <= (loop.end_lineno or 0)
    return is_in and site.is_in_function_of(within) and site.line > within.line


def _is_after(case: Case, site: Site, within: Site) -> bool:
    """Whether a line comes after a backward in the same round of its loop, and takes nothing from what it calls."""
    return _is_later(case, site, within) and isinstance(syntax(case).statement(site), ast.Expr)


def _stored_by_a_call(case: Case, within: Site, name: str) -> Site | None:
    """The only line on which a method stores what a later line of the backward's function hands it by this name."""
    function = syntax(case).function(within)
    calls = (one for one in ast.walk(function) if isinstance(one, ast.Call)) if function is not None else ()
    found: set[Site] = set()
    for call in calls:
        places = [at for at, one in enumerate(call.args) if isinstance(one, ast.Name) and one.id == name]
        if places and call.lineno > within.line:
            found |= set(_stores(case, within.file, called_name(call), places[0]))
    return found.pop() if len(found) == 1 else None


def _stores(case: Case, file: str, called: str, place: int) -> list[Site]:
    """The lines of a method that store its argument on self: `self.terms["total"] = total`."""
    found = []
    for method in syntax(case).nodes(file):
        if isinstance(method, ast.FunctionDef) and method.name == called and len(method.args.args) > place + 1:
            given = method.args.args[place + 1].arg
            stores = [one for one in ast.walk(method) if isinstance(one, ast.Assign) and _is_stored(one, given)]
            found += [syntax(case).site(file, one.lineno, called) for one in stores]
    return found


def _is_stored(assign: ast.Assign, given: str) -> bool:
    return is_of_self(assign.targets[0]) and isinstance(assign.value, ast.Name) and assign.value.id == given
