"""The line that puts a new layer or parameter into a model, where it stands apart from the line that makes it.

The surprise: values are copied over in between, and several new layers take their places in one assignment.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence import source_lines
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_names import targets
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames

_REGISTERS = ("add_module", "register_module", "register_parameter")
_SAME = ("to", "cuda", "cpu", "train", "eval", "requires_grad_", "double", "half", "float")
_WRAPS = ("Parameter",)


def placing_line(case: Case, made: Stack, put: Site | None, leaves: tuple[str, ...]) -> Site | None:
    """Where what was made on a line of a stack gets its place in a model, there or in what it is returned to; this line
    itself where it puts it in place at once, or where none is found.

    `leaves` are the full names of the parameters that are new: the place is one of theirs.
    """
    parts = {part for leaf in leaves for part in leaf.split(".")[1:]}
    frames = user_frames(made)
    first = next((at for at, one in enumerate(frames) if put in (one, source_lines.head(case, one))), len(frames))
    for depth, site in enumerate(frames[first:]):
        statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
        function = syntax(case).function(site)
        if isinstance(statement, ast.Return):
            continue
        if depth and statement is not None and any(_is_place(one, parts) for one, _ in _places(statement)):
            return source_lines.line(case, site.file, statement.lineno, site.function)
        names = targets(statement) if isinstance(statement, ast.Assign) and _is_named(statement) else set()
        end = site.line if statement is None else statement.end_lineno or statement.lineno
        later = sorted(_put_later(function, end, names, parts)) if function is not None and names else []
        if later:
            return source_lines.line(case, site.file, later[0], site.function)
        if function is None or not _is_returned(function, names):
            return put
    return put


def _is_named(assign: ast.Assign) -> bool:
    """Whether an assignment sets plain names only."""
    parts = (one for target in assign.targets for one in (target.elts if isinstance(target, ast.Tuple) else [target]))
    return all(isinstance(one, ast.Name) for one in parts)


def _put_later(function: ast.AST, line: int, names: set[str], parts: set[str]) -> Iterator[int]:
    """The later lines of a function that give one of some names a place."""
    for node in (one for one in ast.walk(function) if isinstance(one, ast.stmt) and one.lineno > line):
        if any(_is_place(place, parts) and _is_one_of(value, names) for place, value in _places(node)):
            yield node.lineno


def _places(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What a statement puts where: `a.b, a.c = one, two`, `setattr(a, "b", one)`, `a.add_module("b", one)`, which is
    `a.b = one`; an attribute without a name where it is not written out."""
    if isinstance(statement, ast.Assign):
        value = statement.value
        for target in statement.targets:
            ones = target.elts if isinstance(target, ast.Tuple) else [target]
            values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else []
            yield from zip(ones, values if len(values) == len(ones) else [value] * len(ones), strict=True)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if isinstance(call, ast.Call):
        given = [*call.args, *(one.value for one in call.keywords)]
        if (called_name(call) == "setattr" and len(given) == 3) or (called_name(call) in _REGISTERS and given[1:]):
            name = given[-2].value if isinstance(given[-2], ast.Constant) else ""
            yield ast.Attribute(call.func, str(name), ast.Store()), given[-1]


def _is_place(place: ast.expr, parts: set[str]) -> bool:
    """Whether a place is an attribute or an item by which one of some parameters goes; any attribute where these have
    no such names."""
    if isinstance(place, ast.Attribute):
        return not parts or place.attr in ("", *parts)
    if not isinstance(place, ast.Subscript):
        return False
    if isinstance(place.slice, ast.Constant):
        return str(place.slice.value) in parts
    return isinstance(place.value, ast.Attribute) and place.value.attr in parts


def _is_one_of(value: ast.expr, names: set[str]) -> bool:
    """Whether a value is what one of some names stands for, as it is, on another device, or as a parameter."""
    while isinstance(value, ast.Call):
        if isinstance(value.func, ast.Attribute) and value.func.attr in _SAME:
            value = value.func.value
        elif called_name(value) in _WRAPS and value.args:
            value = value.args[0]
        else:
            return False
    return isinstance(value, ast.Name) and value.id in names


def _is_returned(function: ast.AST, names: set[str]) -> bool:
    """Whether a function returns one of some names, by itself or among others."""
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            ones = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if any(_is_one_of(one, names) for one in ones):
                return True
    return False
