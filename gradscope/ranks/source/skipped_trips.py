"""The one line that may leave a layer out of a forward, where others like it run by the very line by which it would.

Blocks of a deep model run by one line of a loop, so which lines ran does not tell which block did not. Where a single
condition, or shortened loop, stands on the way from the wrapper to the layer, it is what left it out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import takewhile

from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.syntax import Function, Loop, at_line
from gradscope.store.reader import Recording

_WRAPPER = "nn/parallel/distributed.py"
_CHOOSES = frozenset(("sample", "islice", "choices", "takewhile", "filter", "compress"))
_COUNTS = "range"
_LENGTH = "len"


def decides_in(recording: Recording, stack: Stack) -> Site | None:
    """That line, of the functions of the program's that a wrapper called; None where there are several."""
    if not inside_a_wrapper(stack):
        return None
    inside = tuple(takewhile(lambda site: not site.file.endswith(_WRAPPER), stack))
    frames = frames_of(recording, tuple(one for one in inside if one.origin is Origin.USER))
    found = {
        (frame.site.file, line): at_line(recording, frame.site, line)
        for frame in frames
        if isinstance(frame.function, Function)
        for line in _deciding(frame.function, frame.site.line)
    }
    return next(iter(found.values())) if len(found) == 1 else None


def inside_a_wrapper(stack: Stack) -> bool:
    """Whether a wrapper called what ran something."""
    return any(site.file.endswith(_WRAPPER) for site in stack)


def _deciding(function: Function, line: int) -> Iterator[int]:
    """The lines of a function by which it may not come to one of its lines, or not as often."""
    for node in own_nodes(function):
        if isinstance(node, ast.If):
            decides = holds(node, line, but_head=True) or leaves(function, node, line)
        elif isinstance(node, Loop):
            decides = holds(node, line) and is_shortened(node)
        else:
            decides = isinstance(node, ast.expr) and holds(node, line) and chooses(node)
        if decides and isinstance(node, ast.stmt | ast.expr):
            yield node.lineno


def own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """What stands in a function, or a module, and not in functions inside of it."""
    waiting: list[ast.AST] = [*ast.iter_child_nodes(function)]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(node)


def leaves(function: Function, node: ast.If, line: int) -> bool:
    """Whether an arm of a condition ends the trip, above a line; the function; or the loop around both, anywhere."""
    loops = [one for one in own_nodes(function) if isinstance(one, Loop) and holds(one, node.lineno)]
    together, above = [holds(loop, line) for loop in loops], (node.end_lineno or 0) < line
    for arm in (node.body, node.orelse):
        if arm and isinstance(arm[-1], ast.Return) and (above or any(together)):
            return True
        if arm and isinstance(arm[-1], ast.Break | ast.Continue) and all(together):
            return above or isinstance(arm[-1], ast.Break)
    return False


def is_shortened(loop: Loop) -> bool:
    """Whether what a loop goes through may be fewer than there are, as far as its head tells."""
    if isinstance(loop, ast.While):
        return True
    for node in ast.walk(loop.iter):
        if isinstance(node, ast.Slice) or (isinstance(node, ast.Call) and called_name(node) in _CHOOSES):
            return True
        if isinstance(node, ast.Call) and called_name(node) == _COUNTS and any(map(_is_free, node.args)):
            return True
    return False


def _is_free(value: ast.expr) -> bool:
    """Whether a number is a name's of the function: one that is an attribute, or a length, is that of the model."""
    calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)]
    return isinstance(value, ast.Name) or any(called_name(one) != _LENGTH for one in calls)


def chooses(node: ast.expr) -> bool:
    """Whether an expression runs one of two, or leaves out some of what it goes through."""
    return isinstance(node, ast.IfExp) or any(part.ifs for part in getattr(node, "generators", ()))


def holds(node: ast.stmt | ast.expr, line: int, but_head: bool = False) -> bool:
    """Whether a line is one of those of a statement or an expression."""
    return node.lineno + but_head <= line <= (node.end_lineno or 0)
