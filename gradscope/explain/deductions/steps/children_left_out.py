"""A part of a model that lies between parts which an optimizer was given one by one, and that was not written down."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.dataflow import dataflow
from gradscope.explain.evidence.syntax import syntax
from gradscope.explain.evidence.timeline import timelines
from gradscope.functions.source import last_name
from gradscope.model.site import Site
from gradscope.model.training import LOAD

_LISTS = ("parameters", "named_parameters")
_FEW = 2  # parts that are written down, at least
_LEVELS = 2  # of names: the model's own may stand before its part's


@dataclass(frozen=True, slots=True)
class ChildLeftOut:
    """The part, and the last line that writes down another part of its model for an optimizer."""

    name: str
    site: Site


def child_left_out(case: Case, unheld: Iterable[str], held: Iterable[str]) -> ChildLeftOut | None:
    """The only part that no optimizer holds, of the named ones, where a list has all the others by their names."""
    given, left = [one.split(".") for one in held], [one.split(".") for one in unheld]
    if not given or not left or any(True for timeline in timelines(case) for _ in timeline.of(LOAD)):
        return None
    for level in range(_LEVELS):
        if any(len(path) < level + _FEW for path in (*given, *left)):
            break
        names, missing = {path[level] for path in given}, {path[level] for path in left}
        if len({tuple(path[:level]) for path in (*given, *left)}) == 1 and len(missing) == 1:
            (name,) = missing
            site = None if name in names or _is_spoken_of(case, name) else _written(case, names)
            if site is not None:
                return ChildLeftOut(name, site)
    return None


def _written(case: Case, names: set[str]) -> Site | None:
    """The last of the lines that write down exactly these parts of one thing: `model.encoder.parameters()`."""
    found: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _LISTS:
                part = node.func.value
                if isinstance(part, ast.Attribute):
                    found[file, ast.unparse(part.value)][part.attr] = node.lineno
    lists = [(file, parts) for (file, _), parts in found.items() if parts.keys() == names and len(names) >= _FEW]
    return syntax(case).site(lists[0][0], max(lists[0][1].values())) if len(lists) == 1 else None


def _is_spoken_of(case: Case, name: str) -> bool:
    """Whether a program names a part outside of its class, or in a text: it may mean to leave it as it is."""
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Attribute) and node.attr == name and last_name(node.value) != "self":
                return True
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value.split("."):
                return True
    return False


def is_between(case: Case, unheld: Iterable[int], held: Iterable[int]) -> bool:
    """Whether such parameters work on what held ones led to, and held ones on what they led to."""
    own, given = set(unheld), set(held)
    led, onward = set[int](), set[int]()
    for operation in dataflow(case).operations:
        if operation.backward is not None or not operation.operation.grad:
            continue
        reads = {one.tensor for one in operation.reads if one.requires_grad}
        if len(operation.reads) == 1 and reads and (reads <= own or reads <= given):
            (own if reads <= own else given).update(operation.makes)  # another form of a weight
            continue
        if reads & given and reads & onward:
            return True
        if reads & onward or (reads & own and reads & led):
            onward.update(operation.makes)
        if reads & given or reads & led:
            led.update(operation.makes)
    return False
