"""Where a program asks a wrapper for the module inside it, to call that, or a part of it, in place of the wrapper."""

from __future__ import annotations

import ast

from gradscope.model.site import Site
from gradscope.ranks.syntax import at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_INSIDE = "module"  # the attribute in which a wrapper has what it wraps
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def asked_at(recording: Recording, site: Site) -> Site:
    """The line that asks for what a line calls: an assignment above it, which runs whenever the call does; else its
    own."""
    tree = tree_of(recording, site)
    body = list(ast.walk(function_around(tree, site.line) or tree))
    later = {one for node in body if isinstance(node, ast.Lambda) for one in ast.walk(node)}
    calls = [node for node in body if isinstance(node, ast.Call) and node not in later and _holds(node, site.line)]
    called = {_held_by(node) for node in calls}
    asks = [
        node.lineno
        for node in body
        if isinstance(node, ast.Assign) and node.lineno < site.line and _asks(node.value)
        for target in node.targets
        if isinstance(target, ast.Name) and target.id in called
    ]
    together = [line for line in asks if _loop_around(tree, line) == _loop_around(tree, site.line)]
    return at_line(recording, site, together[-1]) if together else site


def _held_by(call: ast.Call) -> str:
    """The variable that holds what is called, or what that is a part of."""
    found = call.func
    while isinstance(found, (ast.Attribute, ast.Subscript)):
        found = found.value
    return found.id if isinstance(found, ast.Name) else ""


def _asks(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr == _INSIDE for one in ast.walk(value))


def _holds(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _loop_around(tree: ast.Module, line: int) -> ast.AST | None:
    """The innermost loop around a line."""
    around = [node for node in nodes_of(tree) if isinstance(node, _LOOPS) and _holds(node, line)]
    return around[-1] if around else None
