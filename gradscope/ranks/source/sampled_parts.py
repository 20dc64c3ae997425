"""What decides how much of its data a rank goes through: a line of a sampler or dataset of the program's that takes a
part by the rank, else the line that builds the loader."""

from __future__ import annotations

import ast
from collections.abc import Callable

from gradscope.functions.source import called_name, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.kept_bounds import bounds_kept_in, ends_early, own_in
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_TAKES = frozenset(("__init__", "__iter__", "__getitem__"))  # the methods in which a part is taken
_RANGES = frozenset(("range", "arange", "islice"))
_LOADER = "DataLoader"

Asks = Callable[[ast.expr], bool]


def is_exhausted(loop: ast.For) -> bool:
    """Whether a loop is left for no other reason than that it has nothing more to go through, as far as it tells."""
    return not any(isinstance(node, ast.Break | ast.Return) for node in ast.walk(loop))


def builds_a_loader(value: ast.expr) -> bool:
    """Whether a value is built as a loader of torch's."""
    return any(isinstance(one, ast.Call) and called_name(one) == _LOADER for one in ast.walk(value))


def parts_of_classes(recording: Recording, asks: Asks) -> dict[str, Site]:
    """By the name of a class of the program's, the one line of it that takes a part by the rank."""
    found: dict[str, list[Site]] = {}
    for file in sorted(recording.sources()):
        for node in nodes_of(tree_of(recording, Site(file, 1))):
            if isinstance(node, ast.ClassDef):
                methods = [one for one in node.body if isinstance(one, Function) and one.name in _TAKES]
                cut = bounds_kept_in(node, asks)
                lines = {line: one.name for one in methods for line in _takes_at(one, asks, cut)}
                lines |= dict.fromkeys(cut.values(), "__init__")
                sites = [at_line(recording, Site(file, line, name), line) for line, name in lines.items()]
                found.setdefault(node.name, []).extend(sites)
    return {name: sites[0] for name, sites in found.items() if len(sites) == 1}


def _takes_at(method: Function, asks: Asks, kept: dict[str, int]) -> set[int]:
    """The lines of a method that slice or count by the rank, or by what it has computed of that; instead of one that
    does up to a bound, the line of this, which may be `kept` in an attribute."""
    assigned = [node for node in ast.walk(method) if isinstance(node, ast.Assign) and asks(node.value)]
    names = {
        one.id for node in assigned for each in node.targets for one in ast.walk(each) if isinstance(one, ast.Name)
    }
    cut = {**kept, **_cut_short(method, lambda value: asks(value) or bool(names & names_in(value)))}
    found = set()
    for node in ast.walk(method):
        parts: list[ast.expr] = []
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            parts = [node.slice]
        elif isinstance(node, ast.Call) and called_name(node) in _RANGES:
            parts = node.args
        if isinstance(node, ast.expr) and any(asks(one) or names & names_in(one) for one in parts):
            lines = {cut[name] for one in parts for name in (*names_in(one), *own_in(one)) if name in cut}
            found |= lines if len(lines) == 1 else {node.lineno}
    return found


def _cut_short(method: Function, asks: Asks) -> dict[str, int]:
    """The lines of the bounds `end = min(start + share, total)` by their names: where data end, a part ends before it
    has as many as the others.
    """
    found = {}
    for node in ast.walk(method):
        bound = node.value if isinstance(node, ast.Assign) and asks(node.value) else None
        if bound is not None and ends_early(bound) and isinstance(node, ast.Assign):
            found.update({one.id: node.lineno for one in node.targets if isinstance(one, ast.Name)})
    return found
