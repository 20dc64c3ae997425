"""The line that put together the list of parameters which an optimizer is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import argument, calls_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack, user_frames

_LISTS = ("parameters", "named_parameters")


def listing_line(case: Case, creation: Stack) -> Site | None:
    """The last line that takes parameters of a module into the list that an optimizer is given, in the function that
    makes the optimizer or in the one that it calls for the list; None where it is given a module's own list.
    """
    own = user_frames(creation)[:1]
    values = [argument(call, "params", 0) for site in own for call in calls_at(case, site)]
    given = next((value for value in values if value is not None), None)
    if isinstance(given, ast.Name):
        within = syntax(case).function(own[0]) or syntax(case).tree(own[0].file)
        lists = [one for one in _taking(within, given.id) if one.lineno < own[0].line] if within is not None else []
        taking = [one.lineno for one in lists if any(True for _ in _taken(one))]
        if taking:
            return syntax(case).site(own[0].file, taking[-1])
        given = next((one.value for one in reversed(lists) if isinstance(one, ast.Assign)), None)
    return _in_helper(case, given) if isinstance(given, ast.Call) else None


def _taking(within: ast.AST, name: str) -> list[ast.stmt]:
    """The statements that put something into the list of this name, in order."""
    found = [node for node in ast.walk(within) if isinstance(node, ast.Assign | ast.AugAssign | ast.Expr)]
    return sorted((one for one in found if _puts_into(one, name)), key=lambda one: one.lineno)


def _puts_into(statement: ast.stmt, name: str) -> bool:
    if isinstance(statement, ast.Assign):
        return any(isinstance(one, ast.Name) and one.id == name for one in statement.targets)
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.target, ast.Name) and statement.target.id == name
    call = statement.value if isinstance(statement, ast.Expr) else None
    owner = call.func.value if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None
    return isinstance(owner, ast.Name) and owner.id == name


def _in_helper(case: Case, call: ast.Call) -> Site | None:
    """The last line that asks for parameters in the function of the program that a call names."""
    name = called_name(call)
    functions = [
        (file, node)
        for file in syntax(case).files
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.FunctionDef) and node.name == name and name not in _LISTS
    ]
    if len(functions) != 1:
        return None
    file, function = functions[0]
    lines = sorted(one.lineno for one in _taken(function))
    return syntax(case).site(file, lines[-1]) if lines else None


def _taken(within: ast.AST) -> Iterator[ast.Call]:
    """The calls that ask a module for its parameters."""
    for node in ast.walk(within):
        if isinstance(node, ast.Call) and called_name(node) in _LISTS:
            yield node
