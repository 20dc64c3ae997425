"""Which names of a function may hold what it computed from others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.functions.source import names_in

_KNOWN = {"torch", "F", "nn", "functional", "math", "numpy", "np"}
_CONTEXT = "ctx"  # what is put away on it is taken out again by backward, not by the same function


def derived_names(function: ast.FunctionDef, given: Iterable[str], calls_write: bool = True) -> set[str]:
    """The given names, and all that are assigned, written in place or chosen in dependence on one of them.

    `calls_write`: what a call of the program's own is given may be written by it. Without it rather too few are found.
    """
    names, steps = set(given), list(_steps(function, calls_write))
    known = -1
    while known != len(names):
        known = len(names)
        for read, made in steps:
            if not names.isdisjoint(read):
                names |= made
    return names


def _steps(function: ast.FunctionDef, calls_write: bool) -> Iterator[tuple[set[str], set[str]]]:
    """What each statement and expression reads, and which names it may change by that."""
    for node in ast.walk(function):
        match node:
            case ast.Assign():
                yield (
                    names_in(node.value),
                    names_in(*node.targets) | (_handed_out(node.value) if calls_write else set()),
                )
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
                yield names_in(node.value), names_in(node.target)
            case ast.For() | ast.comprehension():
                yield names_in(node.iter), names_in(node.target) | _assigned(node)
            case ast.With():
                yield names_in(*(one.context_expr for one in node.items)), _assigned(node)
            case ast.If() | ast.While():
                yield names_in(node.test), _assigned(node)
            case ast.Expr() if calls_write:
                yield names_in(node.value), names_in(node.value) - {_CONTEXT}
            case ast.FunctionDef() if node is not function:
                yield names_in(node), {node.name}


def _handed_out(value: ast.expr) -> set[str]:
    """The names that a function which is not torch's is given: it may write into them what it returns nothing of."""
    calls = (one for one in ast.walk(value) if isinstance(one, ast.Call))
    own = (one for one in calls if isinstance(one.func, ast.Name) or not names_in(one.func) <= _KNOWN)
    given = [part for one in own for part in (*one.args, *(each.value for each in one.keywords))]
    return names_in(*given)


def _assigned(block: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(block) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
