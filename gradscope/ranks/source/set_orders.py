"""The loop around a line that goes through something in the order of a set, whichever function took that order.

The order of a set of texts is another one in each process, and a dictionary or a list that was filled by it has it too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.deciding import given_by_objects, origin
from gradscope.ranks.source.given import Frame, bound_in, frames_of
from gradscope.ranks.source.syntax import at_line, nodes_in, nodes_of, tree_of
from gradscope.store.reader import Recording

BY_A_SET = "in the order of a set, which is each process's own"
_SETS = frozenset(("set", "frozenset"))
_LISTS = frozenset(("list", "tuple"))
_THROUGH = frozenset(("enumerate", "iter", "zip", "reversed", "tqdm", "dict", "fromkeys"))
_OF = frozenset(("items", "keys", "values", "copy", "union", "intersection", "difference", "symmetric_difference"))
_JOINS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)
_VIEW = "keys"
_PUTS = frozenset(("append", "extend"))
_LONGEST = 16  # parts of an expression


def goes_by_a_set(recording: Recording, stack: Stack) -> Site | None:
    """The line that makes a list in the order of a set, by which the innermost such loop around a line goes; else that
    loop's own. None where no loop is known to, or where something is sorted in between."""
    frames = frames_of(recording, stack)
    for at, frame in enumerate(frames):
        loops = [node for node in nodes_of(frame.tree) if isinstance(node, ast.For) and _holds(node, frame.site.line)]
        for loop in reversed(loops):
            around = [replace(frame, site=replace(frame.site, line=loop.lineno)), *frames[at + 1 :]]
            taken: list[Site] = []

            def ordering(inside: list[Frame], value: ast.expr, taken: list[Site] = taken) -> ast.expr:
                return _ordering(recording, inside, value, taken)

            if origin(recording, around, loop.iter, _is_set, ordering, given_by_objects) is not None:
                return taken[-1] if taken else at_line(recording, frame.site, loop.lineno)
    return None


def _holds(node: ast.For, line: int) -> bool:
    return node.lineno < line <= (node.end_lineno or 0)


def _is_set(value: ast.expr) -> bool:
    """Whether a value is a set by itself, of other things than numbers, whose order is the same in all processes."""
    if isinstance(value, ast.BinOp):
        sides = (value.left, value.right)
        return isinstance(value.op, _JOINS) and any(_is_set(one) or _is_view(one) for one in sides)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id in _SETS and bool(value.args)
    numbers = isinstance(value, ast.Set) and all(_is_number(one) for one in value.elts)
    return isinstance(value, (ast.Set, ast.SetComp)) and not numbers


def _is_view(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and called_name(value) == _VIEW and not value.args


def _is_number(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and isinstance(value.value, int | float)


def _ordering(recording: Recording, frames: list[Frame], value: ast.expr, taken: list[Site]) -> ast.expr:
    """The part of a value that says in which order it is gone through; `taken` gets the lines that make lists by it."""
    for _ in range(_LONGEST):
        inside, is_list = (None, False) if _is_set(value) else _inside(recording, frames, value)
        if inside is None:
            break
        if is_list:
            made = inside if isinstance(value, ast.Name) else value  # the loop that fills what has a name
            taken.append(at_line(recording, frames[0].site, made.lineno))
        value = inside
    if _is_set(value) or (isinstance(value, ast.Name | ast.Attribute) and not _is_of_a_trip(frames, value)):
        return value
    if isinstance(value, ast.Call) and called_name(value) != "sorted" and not _is_of_a_trip(frames, value.func):
        return ast.copy_location(ast.Call(func=value.func, args=[], keywords=[]), value)  # of what it says, no argument
    return ast.copy_location(ast.Constant(None), value)


def _is_of_a_trip(frames: list[Frame], value: ast.expr) -> bool:
    """Whether something is a part of what a loop goes through, or of what is chosen: that has an order of its own."""
    while isinstance(value, ast.Attribute):
        value = value.value
    if not isinstance(value, ast.Name) or isinstance(frames[0].function, ast.Lambda):
        return True
    loops = [node for node in nodes_in(frames[0].function) if isinstance(node, ast.For)]
    return any(_is(one, value) for loop in loops for one in ast.walk(loop.target))


def _inside(recording: Recording, frames: list[Frame], value: ast.expr) -> tuple[ast.expr | None, bool]:
    """What a value has its order from, if that is a part of it, and whether it is a list that is made so."""
    found: tuple[ast.expr | None, bool] = (None, False)
    if isinstance(value, ast.ListComp | ast.GeneratorExp | ast.DictComp):
        found = value.generators[0].iter, isinstance(value, ast.ListComp)
    elif isinstance(value, ast.List | ast.Tuple):
        found = next((one.value for one in value.elts if isinstance(one, ast.Starred)), None), True
    elif isinstance(value, ast.IfExp):
        found = value.body, False
    elif isinstance(value, ast.BinOp) and isinstance(value.op, _JOINS):
        found = value.left, False
    elif isinstance(value, ast.Name):
        found = next(_filled(frames[0], value), (_of_file(recording, frames[0], value), False))
    elif isinstance(value, ast.Call):
        found = _inside_call(value)
    return found


def _inside_call(value: ast.Call) -> tuple[ast.expr | None, bool]:
    name = called_name(value)
    if isinstance(value.func, ast.Attribute) and name in _OF:
        return value.func.value, False
    through = value.args and (name in _THROUGH or (isinstance(value.func, ast.Name) and name in _LISTS))
    return (value.args[0], name in _LISTS) if through else (None, False)


def _of_file(recording: Recording, frame: Frame, name: ast.Name) -> ast.expr | None:
    """What a name is given in a file, outside of its functions, and in no function that reads it."""
    if frame.tree.body or bound_in(frame, name.id, name.lineno) is not None:
        return None
    bound = bound_in(replace(frame, tree=tree_of(recording, frame.site)), name.id, name.lineno)
    return None if bound is None else bound[1]


def _filled(frame: Frame, name: ast.Name) -> Iterator[tuple[ast.expr, bool]]:
    """What the loops go through that put something into what has a name, above it, and whether that is a list."""
    nodes = [] if isinstance(frame.function, ast.Lambda) else nodes_in(frame.function)
    for loop in nodes:
        if isinstance(loop, ast.For) and (loop.end_lineno or 0) < name.lineno:
            for node in ast.walk(loop):
                if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) and _is(node.value, name):
                    yield loop.iter, False
                if isinstance(node, ast.Call) and called_name(node) in _PUTS and isinstance(node.func, ast.Attribute):
                    yield from [(loop.iter, True)] if _is(node.func.value, name) else []


def _is(value: ast.AST, name: ast.Name) -> bool:
    return isinstance(value, ast.Name) and value.id == name.id
