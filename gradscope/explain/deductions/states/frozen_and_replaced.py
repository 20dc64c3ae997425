"""Statements that freeze a parameter and others, further down in the same row, that put a new one in its place.

The surprise: requires_grad belongs to the tensor and not to its name, and nn.Parameter() makes one that requires grad.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site

_SIZES = ("shape", "size", "dtype", "device", "dim", "ndim", "numel")  # what is asked of it without its numbers
_PUTS = ("register_parameter", "setattr")


@dataclass(frozen=True, slots=True)
class FrozenAndReplaced:
    """The two lines, and the name of the parameter in its module."""

    name: str
    frozen: Site
    replaced: Site


def frozen_and_replaced(case: Case) -> Iterator[FrozenAndReplaced]:
    """Those before and between which nothing in the row reads the frozen one's numbers, as to keep it, where no other
    line freezes what is called so."""
    for file in syntax(case).files:
        for row in _rows(syntax(case).nodes(file)):
            for at, one in enumerate(row):
                place = _frozen(one)
                if place is None or any(_reads(before, place) for before in row[:at]):
                    continue
                new = _replacement(row[at + 1 :], place)
                if new is not None and not _is_frozen_elsewhere(case, place, one):
                    lines = (syntax(case).site(file, node.lineno) for node in (one, new))
                    yield FrozenAndReplaced(place.attr, *lines)


def _rows(nodes: tuple[ast.AST, ...]) -> Iterator[list[ast.stmt]]:
    for node in nodes:
        for name in ("body", "orelse", "finalbody"):
            row = getattr(node, name, None)
            if isinstance(row, list) and len(row) > 1:
                yield row


def _frozen(node: ast.AST) -> ast.Attribute | None:
    """What `layer.weight.requires_grad = False` or `layer.weight.requires_grad_(False)` freezes."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1 and _is_false(node.value):
        to: ast.AST = node.targets[0]
        switched = to.value if isinstance(to, ast.Attribute) and to.attr == "requires_grad" else None
        return switched if isinstance(switched, ast.Attribute) else None
    call = node.value if isinstance(node, ast.Expr) else node
    if not isinstance(call, ast.Call) or called_name(call) != "requires_grad_":
        return None
    given = [*call.args, *(one.value for one in call.keywords)]
    of = call.func.value if isinstance(call.func, ast.Attribute) else None
    return of if isinstance(of, ast.Attribute) and len(given) == 1 and _is_false(given[0]) else None


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _replacement(later: list[ast.stmt], place: ast.Attribute) -> ast.stmt | None:
    """The statement that puts a plain new parameter there, if none before it, nor it, reads the frozen one's numbers
    or names its module anew."""
    for one in later:
        if _reads(one, place):
            return None
        if _puts(one, place):
            return one
        owner = ast.unparse(place.value)
        if any(ast.unparse(part) == owner for part in ast.walk(one) if _is_set(part)):
            return None
    return None


def _is_set(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store)


def _reads(statement: ast.stmt, place: ast.Attribute) -> bool:
    """Whether it stands in a statement but to be given a value, or to be asked for its sizes."""
    name = ast.unparse(place)
    nodes = list(ast.walk(statement))
    asked = [id(one.value) for one in nodes if isinstance(one, ast.Attribute) and one.attr in _SIZES]
    places = (one for one in nodes if isinstance(one, ast.Attribute) and ast.unparse(one) == name)
    return any(isinstance(one.ctx, ast.Load) and id(one) not in asked for one in places)


def _puts(statement: ast.stmt, place: ast.Attribute) -> bool:
    """`layer.weight = nn.Parameter(kernel)`, or the same by its name."""
    if isinstance(statement, ast.Assign):
        is_there = any(ast.unparse(one) == ast.unparse(place) for one in statement.targets)
        return is_there and _is_plain(statement.value)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or called_name(call) not in _PUTS or len(call.args) < 2:
        return False
    owners = (call.args[0], call.func.value if isinstance(call.func, ast.Attribute) else None)
    is_owned = any(one is not None and ast.unparse(one) == ast.unparse(place.value) for one in owners)
    says = any(isinstance(one, ast.Constant) and one.value == place.attr for one in call.args)
    return is_owned and says and _is_plain(call.args[-1])


def _is_plain(value: ast.expr) -> bool:
    """Whether a new parameter is told nothing about requires_grad."""
    return (
        isinstance(value, ast.Call)
        and last_name(value.func) == "Parameter"
        and len(value.args) == 1
        and not value.keywords
    )


def _is_frozen_elsewhere(case: Case, place: ast.Attribute, own: ast.stmt) -> bool:
    """Whether another statement freezes what is called so: the new one, it may be, in another phase."""
    inside = {id(one) for one in ast.walk(own)}
    nodes = (node for file in syntax(case).files for node in syntax(case).nodes(file) if id(node) not in inside)
    places = (_frozen(node) for node in nodes if isinstance(node, ast.stmt))
    return any(other is not None and ast.unparse(other) == ast.unparse(place) for other in places)
