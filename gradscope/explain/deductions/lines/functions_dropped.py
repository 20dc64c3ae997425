"""Custom Functions that are applied in a statement of their own, so that nothing depends on what they give.

A Function that hands its input on is applied for its backward, and that runs for its result alone. What its forward
changes in place is changed in any case: such a statement is right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_WRITES = "mark_dirty"


def functions_dropped(case: Case) -> Iterator[tuple[Site, str]]:
    """The statement and the Function, where what it is given requires grad and is read again below."""
    met = {one.name for one in case.functions()}  # of these a backward has come to a node
    calls = case.function_calls().items()
    asked = {name for name, found in calls if any(one.requires_grad for call in found for one in call.arguments)}
    names = {name.rpartition(".")[2] for name in asked - met} - _writers(case)
    for file in syntax(case).files if names else ():
        for statement in syntax(case).nodes(file):
            if (
                isinstance(statement, ast.Expr)
                and _applied(statement) in names
                and _is_read_below(case, file, statement)
            ):
                yield syntax(case).site(file, statement.lineno), _applied(statement)


def _writers(case: Case) -> set[str]:
    """The classes that say that they write to an input."""
    nodes = (node for file in syntax(case).files for node in syntax(case).nodes(file))
    classes = (node for node in nodes if isinstance(node, ast.ClassDef))
    return {one.name for one in classes if any(getattr(node, "attr", "") == _WRITES for node in ast.walk(one))}


def _applied(statement: ast.Expr) -> str:
    """`Carry` of `Carry.apply(weights, loss)`, as a statement."""
    call = statement.value
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "apply":
        return ""
    return ast.unparse(call.func.value).rpartition(".")[2]


def _is_read_below(case: Case, file: str, statement: ast.Expr) -> bool:
    """Whether its function goes on with what was handed in."""
    around = syntax(case).function(Site(file, statement.lineno))
    call = statement.value
    given = {ast.unparse(one) for one in call.args} if isinstance(call, ast.Call) else set()
    reads = ast.walk(around) if around is not None else ()
    names = (one for one in reads if isinstance(one, (ast.Name, ast.Attribute)) and isinstance(one.ctx, ast.Load))
    return any(one.lineno > (statement.end_lineno or 0) and ast.unparse(one) in given for one in names)
