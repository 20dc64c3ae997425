"""The bound of a rank's part that an object keeps: self.end = min(self.start + share, total) makes the last shorter.

A bound by which nothing is gone through decides nothing, as one that only a text tells, or a sampler's `__len__`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from gradscope.functions.source import called_name, is_attribute_of, names_in
from gradscope.ranks.source.syntax import Function

_SMALLEST = frozenset(("min", "minimum"))
_BY_NUMBER = "__getitem__"  # what has it is gone through as far as its `__len__`
_OWN = "self."


def ends_early(value: ast.expr) -> bool:
    """Whether a value is the smaller one of several."""
    return isinstance(value, ast.Call) and called_name(value) in _SMALLEST


def own_in(value: ast.AST) -> set[str]:
    """The attributes of its own that a method reads or writes, each with `self.`."""
    return {
        _OWN + one.attr for one in ast.walk(value) if isinstance(one, ast.Attribute) and is_attribute_of(one, "self")
    }


def bounds_kept_in(node: ast.ClassDef, asks: Callable[[ast.expr], bool]) -> dict[str, int]:
    """The lines of the bounds by the rank that end a part early, by the attributes from which the methods take them by
    which an object is gone through."""
    methods = {one.name: one for one in node.body if isinstance(one, Function)}
    made = methods.get("__init__")
    used = _used(methods)
    return {} if made is None else {name: line for name, line in _bounds(made, asks).items() if name in used}


def _bounds(method: Function, asks: Callable[[ast.expr], bool]) -> dict[str, int]:
    """The lines by which attributes are set to the smaller one of what goes by the rank and something else."""
    assigned = [node for node in ast.walk(method) if isinstance(node, ast.Assign)]
    by_rank: set[str] = set()
    found = {}
    for node in sorted(assigned, key=lambda one: one.lineno):
        if not asks(node.value) and not by_rank & (names_in(node.value) | own_in(node.value)):
            continue
        names = {name for one in node.targets for name in (*names_in(one), *own_in(one)) if name != "self"}
        by_rank |= names
        found.update({name: node.lineno for name in names if name.startswith(_OWN) and ends_early(node.value)})
    return found


def _used(methods: dict[str, Function]) -> set[str]:
    """The attributes that are read in the methods by which an object is gone through, and in what these call."""
    goes = ("__iter__", _BY_NUMBER, "__len__") if _BY_NUMBER in methods else ("__iter__",)
    waiting, seen = [name for name in goes if name in methods], set[str]()
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        seen.add(name)
        own = own_in(methods[name])
        found |= own
        asked = {one.removeprefix(_OWN) for one in own} | ({"__len__"} if _asks_its_length(methods[name]) else set())
        waiting += [one for one in asked if one in methods and one not in seen]
    return found


def _asks_its_length(method: Function) -> bool:
    calls = (node for node in ast.walk(method) if isinstance(node, ast.Call) and called_name(node) == "len")
    return any(isinstance(one, ast.Name) and one.id == "self" for call in calls for one in call.args)
