"""Follows names through the source of one function: a hint where the recording has no data flow.

A value is followed through arithmetic, methods of tensors and functions of torch, not into other calls, and not past a
detach() or an item().
"""

from __future__ import annotations

import ast

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_ENDS = {"detach", "detach_", "item", "tolist", "numpy", "sign", "requires_grad_", "argmax", "argsort"}
_BUILTINS = {"sum", "max", "min", "abs", "list", "tuple", "zip"}


def function_at(case: Case, site: Site) -> tuple[ast.AST, ast.stmt] | None:
    """The function (or module) around a line, and its innermost statement there; None when it cannot be read."""
    tree = syntax(case).tree(site.file)
    if tree is None:
        return None
    scope: ast.AST = tree
    statement: ast.stmt | None = None
    for node in ast.walk(tree):  # breadth first: what comes later is further in
        if isinstance(node, ast.stmt) and node.lineno <= site.line <= (node.end_lineno or node.lineno):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                scope = node
            statement = node
    return None if statement is None else (scope, statement)


def targets(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    places = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {name.id for place in places if place is not None for name in ast.walk(place) if isinstance(name, ast.Name)}


def followed(scope: ast.AST, names: set[str]) -> set[str]:
    """These names, and all names of the function that are computed from them."""
    known = set(names)
    while True:
        new = {
            name
            for one in ast.walk(scope)
            if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)) and carries(_value(one), known)
            for name in targets(one)
        }
        if new <= known:
            return known
        known |= new


def carries(node: ast.AST | None, names: set[str]) -> bool:
    """Whether an expression's value is computed from one of these names."""
    if node is None:
        return False
    if isinstance(node, ast.Name):
        return node.id in names
    if isinstance(node, ast.Call):
        return _through(node) and any(carries(one, names) for one in (node.func, *node.args))
    if isinstance(node, ast.Attribute):
        return carries(node.value, names)
    return any(carries(child, names) for child in ast.iter_child_nodes(node))


def _through(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id in _BUILTINS
    if not isinstance(function, ast.Attribute) or function.attr in _ENDS:
        return False
    base = function.value
    return not (isinstance(base, ast.Name) and base.id == "self")


def _value(one: ast.AST) -> ast.AST | None:
    return one.iter if isinstance(one, ast.For) else getattr(one, "value", None)
