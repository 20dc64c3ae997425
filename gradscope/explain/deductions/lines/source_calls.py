"""Calls that the source has and the run never made or made in some rounds only, and the condition that decides it."""

from __future__ import annotations

import ast

from gradscope.explain.deductions.lines.deciding_lines import asked_around
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site

_COUNTING = ("enumerate", "range")


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


def counted_condition(case: Case, site: Site | None) -> Site | None:
    """The condition on the number of its loop's round, which begins anew with each loop, that a line is behind."""
    loop = None if site is None else syntax(case).loop(site)
    if site is None or not isinstance(loop, ast.For) or not isinstance(loop.iter, ast.Call):
        return None
    if called_name(loop.iter) not in _COUNTING:
        return None
    counted = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    for asked in asked_around(case, site):
        remainders = [one for one in ast.walk(asked) if isinstance(one, ast.BinOp) and isinstance(one.op, ast.Mod)]
        if isinstance(counted, ast.Name) and any(counted.id in names_in(one.left) for one in remainders):
            return syntax(case).site(site.file, asked.lineno, site.function)
    return None
