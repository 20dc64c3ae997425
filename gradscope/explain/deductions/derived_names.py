"""Which names of a function may hold what it computed from others: rather too many, as it is the rest that is told."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_CONTEXT = "ctx"  # what is put away on it is taken out again by backward, not by the same function


def derived_names(function: ast.FunctionDef, given: Iterable[str]) -> set[str]:
    """The given names, and all that are assigned, written in place or chosen in dependence on one of them."""
    names, steps = set(given), list(_steps(function))
    known = -1
    while known != len(names):
        known = len(names)
        for read, made in steps:
            if not names.isdisjoint(read):
                names |= made
    return names


def names_in(*nodes: ast.AST | None) -> set[str]:
    """All names that stand in expressions."""
    return {one.id for node in nodes if node is not None for one in ast.walk(node) if isinstance(one, ast.Name)}


def _steps(function: ast.FunctionDef) -> Iterator[tuple[set[str], set[str]]]:
    """What each statement and expression reads, and which names it may change by that."""
    for node in ast.walk(function):
        match node:
            case ast.Assign():
                yield names_in(node.value), names_in(*node.targets)
            case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr():
                yield names_in(node.value), names_in(node.target)
            case ast.For() | ast.comprehension():
                yield names_in(node.iter), names_in(node.target) | _assigned(node)
            case ast.With():
                yield names_in(*(one.context_expr for one in node.items)), _assigned(node)
            case ast.If() | ast.While():
                yield names_in(node.test), _assigned(node)
            case ast.Expr():
                yield names_in(node.value), names_in(node.value) - {_CONTEXT}
            case ast.FunctionDef() if node is not function:
                yield names_in(node), {node.name}


def _assigned(block: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(block) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
