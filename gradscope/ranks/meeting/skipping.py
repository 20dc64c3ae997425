"""A collective in a loop over tensors, of which ranks leave other trips out: by a condition, or before the loop.

It is looked for where ranks meet at one line with tensors of other sizes, and had met there before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import names_in
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.syntax import Loop, at_line, function_around, of_loop, statements, tree_of
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_FILTERS = "filter"  # a function that is called so


def left_out_by(recording: Recording, stack: Stack) -> Site | None:
    """The one condition that decides which trips of the innermost loop come to a line; None where there are others."""
    for site in stack:
        if site.origin is not Origin.USER:
            continue
        loops = [one for one in statements(recording, site) if isinstance(one, Loop) and _holds(one, site.line)]
        if loops:
            found = sorted({*_conditions(loops[-1], site.line), *_filters(recording, site, loops[-1])})
            return at_line(recording, site, found[0]) if len(found) == 1 else None
    return None


def has_met_there(recording: Recording, site: Site) -> bool:
    """Whether a rank was at a line several times on the way to a backward call that it came to, and so before what it
    did last: in a loop over tensors, and not over steps."""
    ways = ways_of(recording).values()
    return any(sum(str(one.site) == str(site) for one in way) > 1 for way in ways)


def _conditions(loop: Loop, line: int) -> Iterator[int]:
    """The lines of the conditions in a loop under which a trip ends above a line, or does not come to it."""
    for node in of_loop(loop):
        if isinstance(node, ast.If):
            ends = node.lineno < line and any(isinstance(one, ast.Continue) for one in (*node.body, *node.orelse))
            if ends or (node.lineno < line and _holds(node, line)):
                yield node.lineno


def _filters(recording: Recording, site: Site, loop: Loop) -> Iterator[int]:
    """The line on which what a loop goes through is chosen, in its head or where that is assigned in its function."""
    function = function_around(tree_of(recording, site), site.line)
    through = loop.iter if isinstance(loop, (ast.For, ast.AsyncFor)) else loop.test
    names = names_in(through)
    body = ast.walk(function) if function is not None else ()
    assigned = [
        node.value
        for node in body
        if isinstance(node, ast.Assign) and node.lineno < loop.lineno
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in names
    ]
    for value in (through, *assigned):
        for one in ast.walk(value):
            by_condition = any(part.ifs for part in getattr(one, "generators", ()))
            if by_condition or (isinstance(one, ast.Call) and getattr(one.func, "id", "") == _FILTERS):
                yield value.lineno


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)
