"""Calls that the source has and the run never made, and the condition that kept them from it."""

from __future__ import annotations

import ast

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site


def guard_of(case: Case, method: str) -> Site | None:
    """The line of the only `if` whose body calls a method of this name, without arguments."""
    found = list(syntax(case).everywhere(lambda node: isinstance(node, ast.If) and _calls(node, method)))
    return found[0] if len(found) == 1 else None


def _calls(guard: ast.If, method: str) -> bool:
    """Whether the body of an `if` calls it, with no other `if` in between."""
    for statement in guard.body:
        value = statement.value if isinstance(statement, ast.Expr) else None
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == method:
            return True
    return False
