"""Whether a loop goes through what was packed, or filtered, by what the samples hold: as many samples for each rank do
not make as many of these."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.syntax import Function, Loop, nodes_of, tree_of
from gradscope.store.reader import Recording

_FILLS = frozenset(("append", "extend", "insert", "add", "pop", "remove"))


Asks = Callable[[ast.expr], bool]


def is_packed(recording: Recording, value: ast.expr, takes_part: Asks) -> bool:
    """Whether a value is what a function of the program's packs, the only one of its name, which takes no part of it
    for a rank; or what a comprehension leaves."""
    for node in ast.walk(value):
        if any(one.ifs for one in getattr(node, "generators", ())):
            return True
        if isinstance(node, ast.Call) and _packs(recording, called_name(node) or "", takes_part):
            return True
    return False


def _packs(recording: Recording, name: str, takes_part: Asks) -> bool:
    found = [
        node
        for file in sorted(recording.sources())
        for node in nodes_of(tree_of(recording, Site(file, 1)))
        if isinstance(node, Function) and node.name == name
    ]
    nodes = [node for one in found for node in ast.walk(one)]
    if len(found) != 1 or any(isinstance(node, ast.expr) and takes_part(node) for node in nodes):
        return False
    return any(filled_by_size(node) for node in nodes if isinstance(node, Loop))


def filled_by_size(loop: ast.stmt) -> set[str]:
    """The lists that a loop fills under a condition of what it keeps from trip to trip; of what it yields so, the name
    is empty."""
    kept = {name for node in ast.walk(loop) for name in _changed(node)}
    tests = (node for node in ast.walk(loop) if isinstance(node, ast.If) and names_in(node.test) & kept)
    return {name for test in tests for one in test.body for node in ast.walk(one) for name in _given_out(node)}


def _changed(node: ast.AST) -> Iterator[str]:
    """The variables that a node adds to, or makes of what they were."""
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    if isinstance(node, ast.Assign):
        bound = (one.id for each in node.targets for one in ast.walk(each) if isinstance(one, ast.Name))
        yield from names_in(node.value).intersection(bound)
    yield from _filled(node)


def _given_out(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Yield):
        yield ""
    yield from _filled(node)


def _filled(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _FILLS:
        yield from ([node.func.value.id] if isinstance(node.func.value, ast.Name) else [])
