"""The call that gives a function two tensors which do not fit: the operator that shows it only does what it is told."""

from __future__ import annotations

import ast
from itertools import pairwise

from gradscope.explain.deductions.lines.settings import argument, calls_at
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.operation import Operation, base_name
from gradscope.model.site import Origin, Site, Stack

_CALLS_A_MODULE = "torch/nn/modules/module.py"
_FORWARD, _OF_ITSELF = "forward", (["self"], ["cls"])
_Names = tuple[str, str]
_SIGNS: dict[str, type[ast.operator]] = {"sub": ast.Sub, "rsub": ast.Sub, "add": ast.Add, "mul": ast.Mult}


def handed_at(case: Case, operation: Operation) -> Site | None:
    """The call that handed both operands of an operator over, through as many functions as have them as arguments.

    None where one of them was made, or given another shape, in the function of the operator.
    """
    frames, found = _frames(operation.stack), None
    pair = _operands(case, operation, frames[0]) if frames else None
    for inner, outer in pairwise(frames):
        handed = None if pair is None else _handed(case, inner, outer, pair)
        if handed is None:
            break
        found, pair = outer, _names(handed)
    return found


def _frames(stack: Stack) -> list[Site]:
    """The program's frames, from within, up to where something else than the call of a module lies between two."""
    found: list[Site] = []
    between: list[Site] = []
    for site in stack:
        if site.origin is not Origin.USER:
            between.append(site)
        elif found and not all(_CALLS_A_MODULE in one.file.replace("\\", "/") for one in between):
            break
        else:
            found.append(site)
            between = []
    return found


def _operands(case: Case, operation: Operation, site: Site) -> _Names | None:
    """The names of both operands, where all that the line may have meant by the operator has the same two."""
    statement, name = syntax(case).statement(site), base_name(operation.name)
    pairs: set[_Names | None] = set()
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.BinOp) and isinstance(node.op, _SIGNS.get(name, ())):
            pairs.add(_names([node.left, node.right]))
        elif isinstance(node, ast.Call) and (called_name(node) == name or operation.stack[0].origin is Origin.TORCH):
            pairs |= {_names(_given(node))} - {None}
    return pairs.pop() if len(pairs) == 1 else None


def _given(call: ast.Call) -> list[ast.expr]:
    """What a call is given: of one argument, with what it is a method of."""
    given = [*call.args, *(one.value for one in call.keywords)]
    return [call.func.value, *given] if isinstance(call.func, ast.Attribute) and len(given) == 1 else given


def _names(values: list[ast.expr]) -> _Names | None:
    """The first two of these expressions, where they are plain names."""
    found = [one.id for one in values[:2] if isinstance(one, ast.Name) and one.id != "torch"]
    return (found[0], found[1]) if len(found) == 2 else None


def _handed(case: Case, inner: Site, outer: Site, pair: _Names) -> list[ast.expr] | None:
    """What the next frame's call gives the function of a frame for two names, which it leaves as they are given."""
    function = syntax(case).function(inner)
    if not isinstance(function, ast.FunctionDef) or function.name != inner.function or _changes(function, pair):
        return None
    plain = [one.arg for one in function.args.args]
    places = {name: at for at, name in enumerate(plain[1:] if plain[:1] in _OF_ITSELF else plain)}
    for call in calls_at(case, outer):
        given = [argument(call, name, places[name]) for name in pair if name in places]
        values = [one for one in given if one is not None]
        if len(values) == 2 and (function.name == _FORWARD or called_name(call) == function.name):
            return values
    return None


def _changes(function: ast.FunctionDef, pair: _Names) -> bool:
    """Whether a function gives one of these names another value, or changes in place what it has."""
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and node.id in pair and not isinstance(node.ctx, ast.Load):
            return True
        method = node.func if isinstance(node, ast.Call) else None
        if isinstance(method, ast.Attribute) and method.attr.endswith("_") and last_name(method.value) in pair:
            return True
    return False
