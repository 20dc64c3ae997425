"""The condition by which a program selects the parameters whose gradients it averages by hand."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import Function, at_line, function_around, statements, tree_of
from gradscope.store.reader import Recording

_ALL = frozenset(("parameters", "named_parameters"))
_STATES = frozenset(("grad", "requires_grad"))  # a parameter without a gradient has none to average

_Place = tuple[Site, ast.AST]


def selected_at(recording: Recording, site: Site) -> Site | None:
    """The condition under which a line comes to a parameter, or under which what it goes through was put together."""
    tree = tree_of(recording, site)
    function = function_around(tree, site.line)
    if function is None:
        return None
    seen: list[_Place] = [(site, function)]

    def noted(frames: list[Frame], value: ast.expr) -> ast.expr:
        seen.append((frames[0].site, value))
        return value

    for frames in ways_to(recording, site.file, tree, site.line):
        for through in _gone_through(function):
            origin(recording, frames, through, _never, noted)
    called = {called_name(one) for _, value in seen[1:] for one in ast.walk(value) if isinstance(one, ast.Call)}
    for file in sorted(recording.sources()):
        functions = (one for one in statements(recording, Site(file, 1)) if isinstance(one, Function))
        seen += [(Site(file, one.lineno, one.name), one) for one in functions if one.name in called]
    lines = ((place, line) for place, node in seen for line in _conditions(node))
    return next((at_line(recording, place, line) for place, line in lines), None)


def _gone_through(function: Function) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.For | ast.comprehension):
            yield node.iter


def _never(value: ast.expr) -> bool:
    return False


def _conditions(node: ast.AST) -> Iterator[int]:
    """The lines of the conditions in what goes through all parameters of a model."""
    for one in ast.walk(node):
        if not isinstance(one, ast.For | ast.comprehension) or not _is_of_all(one.iter):
            continue
        inside = (
            one.ifs
            if isinstance(one, ast.comprehension)
            else [each.test for part in one.body for each in ast.walk(part) if isinstance(each, ast.If)]
        )
        yield from (test.lineno for test in inside if not _asks_for_a_state(test))


def _is_of_all(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and called_name(one) in _ALL for one in ast.walk(value))


def _asks_for_a_state(test: ast.expr) -> bool:
    return any(isinstance(one, ast.Attribute) and one.attr in _STATES for one in ast.walk(test))
