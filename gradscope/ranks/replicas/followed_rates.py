"""Where a program asks an object of each rank's own, a loader say, for what a learning rate then follows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording


def followed_at(recording: Recording, site: Site) -> Site | None:
    """The one line above a line that sets a rate, in its function, which asks an object for what that goes by: an
    object of a class of the program's that is made by the rank's number."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line)
    if function is None:
        return None
    set_by = (one.value for one in _assignments(function) if one.lineno == site.line)
    names = {name for value in set_by for name in names_in(value)}
    classes = {one.name for file in recording.sources() for one in _classes(tree_of(recording, Site(file, 1)))}
    found: list[int] = []
    for name in sorted(names):
        given = [one for one in _assignments(function) if _is_to(one, name)]
        if len(given) == 1 and given[0].lineno < site.line:
            ways = list(ways_to(recording, site.file, tree, given[0].lineno))
            if any(_is_own(recording, way, asked, classes) for way in ways for asked in _asked(given[0].value)):
                found.append(given[0].lineno)
    return at_line(recording, site, found[0]) if len(found) == 1 else None


def _assignments(function: Function) -> Iterator[ast.Assign | ast.AugAssign]:
    return (node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AugAssign))


def _classes(tree: ast.Module) -> Iterator[ast.ClassDef]:
    return (node for node in nodes_of(tree) if isinstance(node, ast.ClassDef))


def _is_to(node: ast.Assign | ast.AugAssign, name: str) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return any(isinstance(one, ast.Name) and one.id == name for one in targets)


def _asked(value: ast.expr) -> Iterator[ast.expr]:
    """The variables that something is an attribute of."""
    return (
        node.value for node in ast.walk(value) if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    )


def _is_own(recording: Recording, frames: list[Frame], asked: ast.expr, classes: set[str]) -> bool:
    """Whether an object is made of one of these classes, and by the rank's number."""
    made: list[tuple[list[Frame], ast.Call]] = []

    def noted(around: list[Frame], value: ast.expr) -> ast.expr:
        if isinstance(value, ast.Call) and called_name(value) in classes:
            made.append((around, value))
        return value

    origin(recording, frames, asked, lambda value: bool(made), noted)
    given = ((around, one) for around, call in made for one in _given(call))
    return any(origin(recording, around, one, asks_for_rank) is not None for around, one in given)


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]
