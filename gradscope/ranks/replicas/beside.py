"""Where a program asks a wrapper for the module inside it, to call that, or a part of it, in place of the wrapper."""

from __future__ import annotations

import ast

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import is_of_a_module
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.given import Frame, frames_of, passed_to
from gradscope.ranks.source.syntax import Function, at_line, nodes_in, nodes_of, tree_of
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_INSIDE = "module"  # the attribute in which a wrapper has what it wraps
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def asked_at(recording: Recording, site: Site) -> Site:
    """The line that asks for what a line calls: an assignment above it, which runs whenever the call does, or that in
    the only function that gives it to that of the line; else its own. Where all others that read the name ask for what
    has no gradient, as what draws actions does, the line that calls or hands over."""
    tree = tree_of(recording, site)
    ways = ways_to(recording, site.file, tree, site.line)
    found = {str(asks): asks for way in ways for asks in [_asked(recording, way)] if asks}
    asks = next(iter(found.values())) if len(found) == 1 else None
    return site if asks is None else at_line(recording, asks, asks.line)


def entered_at(recording: Recording, way: Stack) -> Site | None:
    """The innermost line of a way into a model that is in no method of a module's: it calls the model from outside."""
    return next((one.site for one in frames_of(recording, way) if not is_of_a_module(one)), None)


def _asked(recording: Recording, frames: list[Frame]) -> Site | None:
    """The same on one way to a line; None where that itself asks, or nothing tells."""
    helpers = _helpers(recording)
    called = _called(frames[0], helpers)
    for at, frame in enumerate(frames):
        together = [
            node.lineno
            for node in ast.walk(frame.function)
            if isinstance(node, ast.Assign) and node.lineno < frame.site.line and _asks(node.value, helpers)
            if any(isinstance(one, ast.Name) and one.id in called for one in node.targets)
            if at or _loop_around(frame.tree, node.lineno) == _loop_around(frame.tree, frame.site.line)
        ]
        if together:
            line = frame.site.line if _acts_elsewhere(recording, frame, called) else together[-1]
            return Site(frame.site.file, line, frame.site.function)
        given = [one for one in (passed_to(frames, at, name) for name in called if name) if one is not None]
        if any(_asks(one, helpers) for one in given):
            return Site(frames[at + 1].site.file, given[0].lineno, frames[at + 1].site.function)
        called = {one.id for one in given if isinstance(one, ast.Name)}
    return None


def _acts_elsewhere(recording: Recording, frame: Frame, names: set[str]) -> bool:
    """Whether another line of a function reads one of these names, and what it asks for has no gradient."""
    reads = (node for node in ast.walk(frame.function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    others = {node.lineno for node in reads if node.id in names and node.lineno != frame.site.line}
    return bool(others) and not others & _learns(recording, frame.site.file)


def _learns(recording: Recording, file: str) -> set[int]:
    """The lines of a file that run operators which make nodes on the way to a backward."""
    with_gradients = (one for way in ways_of(recording).values() for one in way if one.grad)
    return {site.line for one in with_gradients for site in one.stack if site.file == file}


def _called(frame: Frame, helpers: set[str]) -> set[str]:
    """The variables that hold what a line calls, or what that is a part of: not what a lambda on it calls later."""
    body = list(ast.walk(frame.function))
    later = {one for node in body if isinstance(node, ast.Lambda) for one in ast.walk(node)}
    calls = (node for node in body if isinstance(node, ast.Call) and node not in later)
    return {_held_by(node, helpers) for node in calls if _holds(node, frame.site.line)}


def _held_by(call: ast.Call, helpers: set[str]) -> str:
    found = call.func
    if _asks(found, helpers):
        return ""
    while isinstance(found, (ast.Attribute, ast.Subscript)):
        found = found.value
    return found.id if isinstance(found, ast.Name) else ""


def _asks(value: ast.expr, helpers: set[str]) -> bool:
    """Whether an expression asks a wrapper for the module inside, or a helper that gives this."""
    calls = (called_name(one) for one in ast.walk(value) if isinstance(one, ast.Call))
    return any(_is_inside(one) for one in ast.walk(value)) or not helpers.isdisjoint(calls)


def _helpers(recording: Recording) -> set[str]:
    """The names of the program's functions that return the module inside a wrapper."""
    trees = (tree_of(recording, Site(file, 1)) for file in sorted(recording.sources()))
    functions = (node for tree in trees for node in nodes_of(tree) if isinstance(node, Function))
    return {one.name for one in functions if _unwraps(one)}


def _unwraps(function: Function) -> bool:
    """Whether a function returns such a module, as it is, or by a name that it gave to it."""
    body = nodes_in(function)
    names = {
        target.id
        for node in body
        if isinstance(node, ast.Assign) and _gives_inside(node.value, set())
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    returned = (node.value for node in body if isinstance(node, ast.Return) and node.value is not None)
    return any(_gives_inside(value, names) for value in returned)


def _gives_inside(value: ast.expr, names: set[str]) -> bool:
    if isinstance(value, ast.IfExp):
        return _gives_inside(value.body, names) or _gives_inside(value.orelse, names)
    by_name = isinstance(value, ast.Call) and called_name(value) == "getattr"
    asked = {getattr(one, "value", None) for one in value.args} if isinstance(value, ast.Call) and by_name else set()
    return _INSIDE in asked or _is_inside(value) or (isinstance(value, ast.Name) and value.id in names)


def _is_inside(value: ast.AST) -> bool:
    return isinstance(value, ast.Attribute) and value.attr == _INSIDE


def _holds(node: ast.expr | ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or 0)


def _loop_around(tree: ast.Module, line: int) -> ast.AST | None:
    """The innermost loop around a line."""
    around = [node for node in nodes_of(tree) if isinstance(node, _LOOPS) and _holds(node, line)]
    return around[-1] if around else None
