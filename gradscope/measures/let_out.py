"""Finds the statement by which a tensor escaped from its transform: the assignment to the name that still keeps it.

The surprise: nothing happens when Python stores an object, so no recording can have seen it. The recording knows what
holds the tensor, which functions ran when it was made, and their source.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradscope.model.site import Site, user_frames
from gradscope.model.transform import Escaped, Transform

Source = Callable[[str], str | None]
_PUTS = frozenset({"append", "appendleft", "add", "extend", "insert", "setdefault", "update", "put"})
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_MOST = 3  # statements that are named when several could have been it


def let_out(escaped: Escaped, transform: Transform, source: Source) -> str | None:
    """The place of the statement, None when the source does not show it; of several, the first, followed by the others.

    Functions that ran when the tensor was made come first, the innermost before the others; then those that the call of
    the transform names, then the rest of the files.
    """
    if escaped.holder is None:
        return None
    inside = _inside(escaped, transform)
    for site in inside:
        stores = _stores(_function(_parsed(source, site.file), site), escaped.holder)
        if stores:
            return _told(site.file, _after(stores, site.line))
    called = transform.site
    for function in () if called is None else _named_at(_parsed(source, called.file), called.line):
        stores = _stores(function, escaped.holder)
        if stores:
            return _told(called.file, stores)  # type: ignore[union-attr]
    for file in dict.fromkeys(site.file for site in (*inside, *user_frames(transform.stack))):
        stores = _stores(_parsed(source, file), escaped.holder)
        if stores:
            return _told(file, stores)
    return None


def _inside(escaped: Escaped, transform: Transform) -> list[Site]:
    """The user's lines that ran under the transform when the tensor was made, innermost first."""
    outside = {str(site) for site in transform.stack}
    return [site for site in user_frames(escaped.stack) if str(site) not in outside]


def _parsed(source: Source, file: str) -> ast.AST | None:
    text = source(file)
    try:
        return None if text is None else ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _function(tree: ast.AST | None, site: Site) -> ast.AST | None:
    """The innermost function around a line."""
    found = None
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, (*_DEFINITIONS, ast.Lambda)):
            holds = node.lineno <= site.line <= (node.end_lineno or node.lineno)
            found = node if holds and (found is None or node.lineno >= found.lineno) else found
    return found


def _named_at(tree: ast.AST | None, line: int) -> Iterator[ast.AST]:
    """The functions whose names stand on a line."""
    nodes = [] if tree is None else list(ast.walk(tree))
    names = {node.id for node in nodes if isinstance(node, ast.Name) and node.lineno == line}
    names |= {node.attr for node in nodes if isinstance(node, ast.Attribute) and node.lineno == line}
    return (node for node in nodes if isinstance(node, _DEFINITIONS) and node.name in names)


def _stores(tree: ast.AST | None, name: str) -> list[int]:
    """The lines of the statements that assign to a name, or store into the object that has it."""
    if tree is None:
        return []
    return sorted({node.lineno for node in ast.walk(tree) if _is_store(node, name)})  # type: ignore[attr-defined]


def _is_store(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Call):
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr in _PUTS:
            return _named(function.value) == name
        return isinstance(function, ast.Name) and function.id == "setattr" and name in _constants(node.args[1:2])
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.NamedExpr)) or (isinstance(node, ast.AnnAssign) and node.value):
        targets = [node.target]
    else:
        return False
    return not _is_empty(node.value) and any(_holds(target, name) for target in targets)


def _is_empty(value: ast.expr | None) -> bool:
    """Whether what is stored is a constant or an empty container, which no tensor is in."""
    if isinstance(value, (ast.List, ast.Tuple)):
        return all(map(_is_empty, value.elts))
    return isinstance(value, ast.Constant) or (isinstance(value, ast.Dict) and not value.values)


def _holds(target: ast.expr, name: str) -> bool:
    if isinstance(target, (ast.Tuple, ast.List)):
        return any(_holds(one, name) for one in target.elts)
    if isinstance(target, ast.Starred):
        return _holds(target.value, name)
    if isinstance(target, ast.Subscript):
        return _named(target.value) == name or name in _constants([target.slice])
    return _named(target) == name


def _named(value: ast.expr) -> str | None:
    """The last name of `a`, `a.b` or `a.b[...]`."""
    if isinstance(value, ast.Subscript):
        return _named(value.value)
    if isinstance(value, ast.Attribute):
        return value.attr
    return value.id if isinstance(value, ast.Name) else None


def _constants(values: list[ast.expr]) -> list[str]:
    return [str(value.value) for value in values if isinstance(value, ast.Constant)]


def _after(stores: list[int], line: int) -> list[int]:
    """Those that can have run after a line was reached come first; in a loop the others can as well."""
    return [*(one for one in stores if one >= line), *(one for one in stores if one < line)]


def _told(file: str, lines: list[int]) -> str:
    first, *others = lines[:_MOST]
    return f"{file}:{first}" + (f" (or line {' or '.join(map(str, others))})" if others else "")
