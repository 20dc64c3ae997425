"""The line that hides parameters from parameters(): it keeps modules in a plain list or dict of an object.

The layers themselves may be built anywhere, by a function of another file.
"""

from __future__ import annotations

import ast

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site, Stack, user_frames

_LITERALS = (ast.List, ast.Dict, ast.Tuple, ast.ListComp, ast.DictComp, ast.Set, ast.SetComp)
_BUILDERS = ("list", "dict", "tuple")
_ADDS = ("append", "extend", "insert", "setdefault", "update", "add")


def container_around(case: Case, stack: Stack) -> Site | None:
    """Where a caller of the line that made a parameter puts it into one; None where that cannot be told."""
    for site in user_frames(stack):
        statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
        if statement is not None and _keeps(statement):
            return syntax(case).site(site.file, statement.lineno, site.function)
        kept = None if statement is None else _kept_later(syntax(case).function(site), _gathered_in(statement))
        if kept is not None:
            return syntax(case).site(site.file, kept.lineno, site.function)
    return None


def _keeps(statement: ast.stmt) -> bool:
    """`owner.layers = [...]`, `owner.layers[key] = ...`, `owner.layers.append(...)`."""
    if isinstance(statement, ast.Expr):
        called = statement.value.func if isinstance(statement.value, ast.Call) else None
        return isinstance(called, ast.Attribute) and called.attr in _ADDS and isinstance(called.value, ast.Attribute)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign, ast.AugAssign)) or statement.value is None:
        return False
    places = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if any(isinstance(one, ast.Subscript) and isinstance(one.value, ast.Attribute) for one in places):
        return True
    return any(isinstance(one, ast.Attribute) for one in places) and _is_container(statement.value)


def _gathered_in(statement: ast.stmt) -> str:
    """`layers` of `layers = [...]` and `layers.append(...)`; nothing of others."""
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        called = statement.value.func
        if isinstance(called, ast.Attribute) and called.attr in _ADDS and isinstance(called.value, ast.Name):
            return called.value.id
        return ""
    if not isinstance(statement, ast.Assign) or not _is_container(statement.value):
        return ""
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


def _kept_later(function: ast.AST | None, name: str) -> ast.stmt | None:
    """The statement of a function that makes a plain container of that name an attribute as it is."""
    for node in ast.walk(function) if function is not None and name else ():
        if isinstance(node, ast.Assign) and any(isinstance(one, ast.Attribute) for one in node.targets):
            value: ast.expr = node.value
            if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _BUILDERS:
                value = value.args[0] if value.args else value
            if isinstance(value, ast.Name) and value.id == name:
                return node
    return None


def _is_container(value: ast.expr) -> bool:
    function = value.func if isinstance(value, ast.Call) else None
    return isinstance(value, _LITERALS) or (isinstance(function, ast.Name) and function.id in _BUILDERS)
