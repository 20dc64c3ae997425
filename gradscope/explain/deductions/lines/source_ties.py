"""Finds where a program makes two weights one: `self.score.weight = self.items.weight`; and what replaces one of them.

A tie lasts as long as both names keep their tensor: whatever is put in the place of one of the layers ends it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.model.site import Site
from gradscope.store.asked import kept

_BUILDS = "__init__"
_APART = re.compile(r"unti|separat|independen|\bapart\b|decoupl|\bown\b", re.IGNORECASE)
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)


@dataclass(frozen=True, slots=True)
class Tie:
    """An assignment that gives the weight `other` the second name `one`, as "score.weight", both of object `base`.

    `function` is where it stands, `owner` the class of that, if any.
    """

    site: Site
    base: str
    one: str
    other: str
    function: _Function | ast.Module
    owner: ast.ClassDef | None


@dataclass(frozen=True, slots=True)
class Replacement:
    """A line that puts a layer or a weight of object `base` in place; `builds` where it stands in an `__init__`."""

    site: Site
    base: str
    function: _Function | ast.Module
    builds: bool


@kept
def ties(case: Case) -> tuple[Tie, ...]:
    """Every tie that is written out."""
    return tuple(tie for file in syntax(case).files for tie in _ties(case, file))


def replacements(case: Case, weight: str, partner: str) -> Iterator[Replacement]:
    """The lines that put a layer, or its weight alone, in place, where nothing says that it is to be for itself.

    A copy of its partner's weight is meant, and so is what is named or commented so.
    """
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            value = _put(node, weight)
            if value is None or not isinstance(node, (ast.Assign, ast.Call)):
                continue
            site = syntax(case).site(file, node.lineno)
            function = syntax(case).function(site)
            if isinstance(function, _FUNCTIONS) and not _is_meant(case, site, value, partner):
                yield Replacement(site, _base(node), function, getattr(function, "name", "") == _BUILDS)


def puts(statement: ast.AST | None, weight: str) -> bool:
    """Whether a statement gives the layer of a weight, or the weight, its place."""
    return statement is not None and _put(statement, weight) is not None


def layer_of(weight: str) -> str:
    """The attribute by which a module holds the layer of a weight: "score" of "score.weight"."""
    parts = weight.split(".")
    return parts[-2] if len(parts) > 1 else parts[-1]


def has_run(case: Case, tie: Tie) -> bool:
    """Whether each object of a class is tied as it is built, and each class that has both layers has the tie."""
    if tie.owner is None or not _is_straight(tie.function, tie.site.line):
        return False
    name = getattr(tie.function, "name", "")
    if name != _BUILDS and not any(_calls(one, name) for one in _body_of(tie.owner, _BUILDS)):
        return False
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef) and node is not tie.owner and _builds(node, tie):
                return False
    return True


def comes_after(tie: Tie, replacement: Replacement) -> bool:
    """Whether both stand in one function, one after the other, with the object named the same and not made anew."""
    lines = (tie.site.line, replacement.site.line)
    if (
        tie.base != replacement.base
        or tie.function is not replacement.function
        or tie.site.file != replacement.site.file
        or lines[0] >= lines[1]
    ):
        return False
    made = (node for node in ast.walk(tie.function) if isinstance(node, ast.Assign) and lines[0] < node.lineno)
    anew = any(ast.unparse(target) == tie.base for node in made for target in node.targets if node.lineno < lines[1])
    return not anew and all(_is_straight(tie.function, line) for line in lines)


def _ties(case: Case, file: str) -> Iterator[Tie]:
    owners = {id(one): node for node in syntax(case).nodes(file) if isinstance(node, ast.ClassDef) for one in node.body}
    for node in syntax(case).nodes(file):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        one, other = _path(node.targets[0]), _path(node.value)
        if one and other and one[0] == other[0] and one[1:] != other[1:]:
            site = syntax(case).site(file, node.lineno)
            function = syntax(case).function(site)
            if isinstance(function, _FUNCTIONS):
                yield Tie(site, one[0], ".".join(one[1:]), ".".join(other[1:]), function, owners.get(id(function)))


def _path(node: ast.AST) -> list[str]:
    """The names of `base.layer.weight`; none of anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *reversed(names)] if isinstance(node, ast.Name) and names else []


def _put(node: ast.AST, weight: str) -> ast.expr | None:
    """What is put in the place of a weight or of its layer, by an assignment or setattr()."""
    layer = layer_of(weight)
    if isinstance(node, ast.Assign):
        if _path(node.value):
            return node.value if _is_place(node.targets[0], weight, layer, alone=False) else None
        return node.value if _is_place(node.targets[0], weight, layer, alone=True) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "setattr":
        named = node.args[1:2]
        if len(node.args) > 2 and any(isinstance(one, ast.Constant) and one.value == layer for one in named):
            return node.args[2]
    return None


def _base(node: ast.Assign | ast.Call) -> str:
    """The name of the object that an assignment or setattr() changes."""
    changed = node.targets[0] if isinstance(node, ast.Assign) else node.args[0]
    return next((one.id for one in ast.walk(changed) if isinstance(one, ast.Name)), "")


def _is_place(target: ast.expr, weight: str, layer: str, alone: bool) -> bool:
    """`anything.layer`, or with `alone` its weight too."""
    if not isinstance(target, ast.Attribute):
        return False
    inner = target.value
    names_weight = target.attr == weight.rpartition(".")[2] and isinstance(inner, ast.Attribute) and inner.attr == layer
    return target.attr == layer or (alone and names_weight)


def _is_meant(case: Case, site: Site, value: ast.expr, partner: str) -> bool:
    """Whether it starts from its partner's weight, or is said to be for itself."""
    if any(isinstance(one, ast.Attribute) and one.attr == layer_of(partner) for one in ast.walk(value)):
        return True
    lines = syntax(case).parsed(site.file).lines
    first = site.line - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return any(_APART.search(text) for text in (site.function, *lines[first : site.line]))


def _is_straight(function: _Function | ast.Module, line: int) -> bool:
    """Whether a line is a statement of a function itself, behind no condition and no return."""
    before = [one for one in function.body if one.lineno < line]
    leaves = (ast.Return, ast.Raise, ast.Yield)
    if any(isinstance(inner, leaves) for one in before for inner in ast.walk(one)):
        return False
    return any(isinstance(one, (ast.Assign, ast.Expr)) and one.lineno == line for one in function.body)


def _body_of(owner: ast.ClassDef, name: str) -> list[ast.stmt]:
    return next((one.body for one in owner.body if isinstance(one, ast.FunctionDef) and one.name == name), [])


def _calls(statement: ast.stmt, method: str) -> bool:
    """Whether a statement is `self.method()`."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and _path(call.func) == ["self", method]


def _builds(node: ast.ClassDef, tie: Tie) -> bool:
    """Whether a class makes both layers of its own."""
    made = {
        target.attr
        for one in ast.walk(node)
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Attribute)
    }
    return {tie.one.split(".")[0], tie.other.split(".")[0]} <= made
