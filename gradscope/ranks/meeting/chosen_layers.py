"""The line that chooses which layers run, one of several or by a condition, where a parameter of another got no
gradient."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from gradscope.functions.source import is_attribute_of, names_in
from gradscope.model.operation import Operation
from gradscope.model.site import Site
from gradscope.ranks.source.deciding import draws
from gradscope.ranks.source.skipped_trips import holds, leaves, own_nodes
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording


def chosen_at(recording: Recording, name: str, ran: set[str]) -> Site | None:
    """Where one of the layers is taken among which that of a parameter is, by a number or a key that a function is
    given or computes, where another of them ran; None where no such line is known, or where there are several."""
    parts = name.split(".")
    for at in range(len(parts) - 2, -1, -1):
        container = ".".join([*parts[: at + 1], ""])
        others = (path[len(container) :] for path in ran if path.startswith(container))
        if any(other.split(".")[0] != parts[at + 1] for other in others):
            found = _choices(recording, parts[at])
            return found[0] if len(found) == 1 else None
    return None


def _choices(recording: Recording, attribute: str) -> list[Site]:
    """The lines that take one of what an attribute of `self` holds."""
    return [
        at_line(recording, Site(file, node.lineno, function.name), node.lineno)
        for file in sorted(recording.sources())
        for tree in [tree_of(recording, Site(file, 1))]
        for node in nodes_of(tree)
        if isinstance(node, ast.Subscript) and is_attribute_of(node.value, "self")
        if isinstance(node.value, ast.Attribute) and node.value.attr == attribute and isinstance(node.ctx, ast.Load)
        for function in [function_around(tree, node.lineno)]
        if function is not None and _is_free(function, node.slice)
    ]


def passed_by(recording: Recording, name: str, ran: set[str], ways: Mapping[int, list[Operation]]) -> Site | None:
    """The condition by which a function that ran may leave out the layer of a parameter: it goes by what the function
    is given, or draws; the first of several. None where it is a setting of the model, whose layer need not be built."""
    parts = name.split(".")[:-1]
    above = (at for at in range(1, len(parts) + 1) if not _ran(".".join(parts[:at]), ran))
    first = next(above, None)
    lines = {(site.file, site.line) for way in ways.values() for one in way for site in one.stack}
    found = set(_conditions(recording, parts[first - 1], lines)) if first is not None else set()
    return min(found, key=lambda site: (site.file, site.line), default=None)


def _ran(layer: str, ran: set[str]) -> bool:
    return any(path == layer or path.startswith(f"{layer}.") for path in ran)


def _conditions(recording: Recording, attribute: str, lines: set[tuple[str, int]]) -> Iterator[Site]:
    """The conditions by which functions that ran may not come to where they read an attribute of `self`."""
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for function in (one for one in nodes_of(tree) if isinstance(one, Function)):
            reads = [line for node in own_nodes(function) for line in _read(node, attribute)]
            span = range(function.lineno, (function.end_lineno or 0) + 1)
            for line in reads if any((file, one) in lines for one in span) else ():
                for node in own_nodes(function):
                    if isinstance(node, ast.If | ast.IfExp) and _decides(function, node, line):
                        yield at_line(recording, Site(file, node.lineno, function.name), node.lineno)


def _read(node: ast.AST, attribute: str) -> Iterator[int]:
    """The line of a node that reads an attribute of `self`."""
    if isinstance(node, ast.Attribute) and is_attribute_of(node, "self"):
        yield from (node.lineno,) if node.attr == attribute and isinstance(node.ctx, ast.Load) else ()


def _decides(function: Function, node: ast.If | ast.IfExp, line: int) -> bool:
    """Whether a condition of what a function is given, or of a draw, may leave out one of its lines."""
    is_inside = holds(node, line, but_head=isinstance(node, ast.If))
    may_leave = is_inside or (isinstance(node, ast.If) and leaves(function, node, line))
    through = (one.iter for one in own_nodes(function) if isinstance(one, ast.For) and _binds(one, node.test))
    return may_leave and (any(_is_free(function, one) for one in (node.test, *through)) or draws(node.test))


def _binds(loop: ast.For, value: ast.expr) -> bool:
    """Whether a value goes by the trip of a loop."""
    return bool(names_in(loop.target) & names_in(value))


def _is_free(function: Function, key: ast.expr) -> bool:
    """Whether a key is given to a function or computed in it: that of a loop may take each of them."""
    given = function.args
    free = {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}
    free |= {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    names = names_in(key)
    return not isinstance(key, ast.Slice) and bool(names & (free - {"self"}))
