"""Follows names through the source of one function: a hint where the recording has no data flow.

A value is followed through arithmetic, methods of tensors and functions of torch, not into other calls, and not past a
detach() or an item().
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site

_ENDS = {"detach", "detach_", "item", "tolist", "numpy", "sign", "requires_grad_", "argmax", "argsort"}
_BUILTINS = {"sum", "max", "min", "abs", "list", "tuple", "zip"}


def function_at(case: Case, site: Site) -> tuple[ast.AST, ast.stmt] | None:
    """The function (or module) around a line, and its innermost statement there; None when it cannot be read."""
    parsed = syntax(case).parsed(site.file)
    statement = parsed.whole_statements.get(site.line)
    scope = parsed.functions.get(site.line, parsed.tree)
    return None if statement is None or scope is None else (scope, statement)


def targets(statement: ast.stmt) -> set[str]:
    """The names that a statement assigns."""
    places = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return {name.id for place in places if place is not None for name in ast.walk(place) if isinstance(name, ast.Name)}


def parameters_by_looks(nodes: Iterable[ast.AST]) -> set[str]:
    """What is called like a parameter, and the variables of `for _, parameter in model.named_parameters()`."""
    loops = [node for node in nodes if isinstance(node, ast.For) and "param" in ast.unparse(node.iter)]
    variables = {one.id for loop in loops for one in ast.walk(loop.target) if isinstance(one, ast.Name)}
    return variables | {"weight", "bias"}


def followed(scope: ast.AST, names: set[str]) -> set[str]:
    """These names, and all names of the function that are computed from them."""
    leads: dict[str, set[str]] = defaultdict(set)
    for one in ast.walk(scope):
        if isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.For)):
            for name in _carried(_value(one)):
                leads[name] |= targets(one)
    known, waiting = set(names), list(names)
    while waiting:
        new = leads.get(waiting.pop(), set()) - known
        known |= new
        waiting += new
    return known


def carries(node: ast.AST | None, names: set[str]) -> bool:
    """Whether an expression's value is computed from one of these names."""
    return not names.isdisjoint(_carried(node))


def _carried(node: ast.AST | None) -> Iterator[str]:
    """The names that an expression's value is computed from."""
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Call):
        for one in (node.func, *node.args) if _through(node) else ():
            yield from _carried(one)
    elif isinstance(node, ast.Attribute):
        yield from _carried(node.value)
    elif node is not None:
        for child in ast.iter_child_nodes(node):
            yield from _carried(child)


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
