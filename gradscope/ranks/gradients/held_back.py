"""The condition under which no_sync() is entered: it decides for which backward gradients are not averaged. Where that
only asks for a name, the line that gives the name its value.

Where a helper that counts its calls enters it, and one line calls this for each of several models, the count is wrong
by that line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.syntax import JUMPS, Function, at_line, function_around, statements, tree_of
from gradscope.store.reader import Recording


def decides(recording: Recording, site: Site) -> Site:
    """The innermost condition around the name no_sync, or that chooses it, in the function of a line that enters it,
    else the line; in the one function that it calls for what to enter, where that names it; where this function counts,
    the one line that enters it more than once."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line) or tree
    if isinstance(function, Function) and any(isinstance(node, ast.AugAssign) for node in ast.walk(function)):
        several = list(_several(recording, function.name))
        if len(several) == 1:
            return several[0]
    named = [node for node in ast.walk(function) if isinstance(node, ast.Attribute) and node.attr == "no_sync"]
    lines = {node.lineno for node in named}
    if not lines:
        return _decided_in_what_is_called(recording, site, function) or site
    line = site.line if site.line in lines else next(iter(lines)) if len(lines) == 1 else None
    around = [one for node in ast.walk(function) if line is not None for one in _conditions(node, line)]
    return at_line(recording, site, computed_at(function, around)) if around else site


def _decided_in_what_is_called(recording: Recording, site: Site, function: ast.AST) -> Site | None:
    """The last condition around no_sync or above it, under which it is not come to, in what a line enters."""
    entered = (one.context_expr for node in ast.walk(function) if isinstance(node, ast.With) for one in node.items)
    names = {called_name(one) for one in entered if isinstance(one, ast.Call) and one.lineno == site.line}
    helpers = [
        (file, node)
        for file in sorted(recording.sources())
        for node in statements(recording, Site(file, 1))
        if isinstance(node, Function) and node.name in names
    ]
    if len(helpers) != 1:
        return None
    file, helper = helpers[0]
    lines = [one.lineno for one in ast.walk(helper) if isinstance(one, ast.Attribute) and one.attr == "no_sync"]
    found = [one for node in ast.walk(helper) if len(lines) == 1 for one in _conditions(node, lines[0])]
    found += [one for node in ast.walk(helper) if len(lines) == 1 for one in _left_before(node, lines[0])]
    return at_line(recording, Site(file, 1, helper.name), computed_at(helper, found)) if found else None


def computed_at(function: ast.AST, conditions: list[ast.expr]) -> int:
    """The line of the last condition; where it is a name, or the opposite of one, that of the one assignment above it
    in the function that computes its value."""
    last = max(conditions, key=lambda one: one.lineno)
    asked = last.operand if isinstance(last, ast.UnaryOp) and isinstance(last.op, ast.Not) else last
    if not isinstance(asked, ast.Name):
        return last.lineno
    values = [value for node in ast.walk(function) for value in _bound_to(node, asked.id)]
    computed = len(values) == 1 and not isinstance(values[0], ast.Name | ast.Attribute | ast.Constant)
    return values[0].lineno if computed and values[0].lineno < last.lineno else last.lineno


def _bound_to(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """What an assignment gives to a name."""
    targets = node.targets if isinstance(node, ast.Assign) else []
    targets = [node.target] if isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) else targets
    if any(isinstance(one, ast.Name) and one.id == name for each in targets for one in ast.walk(each)):
        value = getattr(node, "value", None)
        yield from () if value is None else (value,)


def _left_before(node: ast.AST, line: int) -> Iterator[ast.expr]:
    """A condition above a line, under which it is not come to."""
    if isinstance(node, ast.If) and (node.end_lineno or 0) < line and isinstance(node.body[-1], JUMPS):
        yield node.test


def _conditions(node: ast.AST, line: int) -> Iterator[ast.expr]:
    """A condition around a line, or one by which an expression on it chooses no_sync."""
    if isinstance(node, ast.If) and node.lineno < line <= (node.end_lineno or 0):
        yield node.test
    if isinstance(node, ast.IfExp) and node.lineno <= line <= (node.end_lineno or 0):
        chosen = (one for arm in (node.body, node.orelse) for one in ast.walk(arm))
        if any(isinstance(one, ast.Attribute) and one.attr == "no_sync" for one in chosen):
            yield node.test


def _several(recording: Recording, name: str) -> Iterator[Site]:
    """The statements that enter several of what a function gives at once."""
    for file in sorted(recording.sources()):
        for node in statements(recording, Site(file, 1)):
            if isinstance(node, ast.With):
                entered = [one.context_expr for one in _entered(node)]
                if sum(isinstance(one, ast.Call) and called_name(one) == name for one in entered) > 1:
                    function = function_around(tree_of(recording, Site(file, 1)), node.lineno)
                    place = Site(file, node.lineno, "<module>" if function is None else function.name)
                    yield at_line(recording, place, node.lineno)


def _entered(node: ast.With) -> Iterator[ast.withitem]:
    """What a statement enters, and one that is all that stands in it."""
    yield from node.items
    inside = node.body[0]
    if len(node.body) == 1 and isinstance(inside, ast.With):
        yield from _entered(inside)
