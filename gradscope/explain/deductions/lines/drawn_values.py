"""Values that a class draws or fills for itself and keeps, as a table of vectors, where it has no parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name

_DRAWS = ("randn", "rand", "normal", "zeros", "ones", "empty", "full")
_FORMS = ("mul", "div", "clone", "unsqueeze", "view", "reshape", "to", "float", "double", "contiguous", "detach")
_WRAPS = ("Buffer",)
_FAR = 12  # forms of one value


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """Such a value: its class, its attribute, the file and the statement of its __init__ that makes it."""

    owner: ast.ClassDef
    attribute: str
    file: str
    statement: ast.stmt


def drawn_values(case: Case) -> Iterator[DrawnValue]:
    """The only values that classes keep, where they make them themselves and use them in another method.

    A class counts if it is a plain nn.Module, makes no other module or parameter, and writes the value once.
    """
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            kept = _kept(node) if isinstance(node, ast.ClassDef) and _is_bare(node) else []
            if isinstance(node, ast.ClassDef) and len(kept) == 1:
                attribute, statement = kept[0]
                if _is_only_read(node, attribute, statement):
                    yield DrawnValue(node, attribute, file, statement)


def _is_bare(node: ast.ClassDef) -> bool:
    """Whether a class is a module that makes no other objects: what is called with a capital letter."""
    if [last_name(base) for base in node.bases] != ["Module"]:
        return False
    calls = (called_name(one) for one in ast.walk(node) if isinstance(one, ast.Call))
    return not any(name[:1].isupper() and name not in _WRAPS for name in calls if name)


def _kept(node: ast.ClassDef) -> list[tuple[str, ast.stmt]]:
    """The attributes that its __init__ gives what it draws, and the buffers that it makes otherwise."""
    init = next((one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    found: list[tuple[str, ast.stmt]] = []
    for one in init.body if init is not None else ():
        attribute, value, is_buffer = _given(one)
        if attribute and init is not None and (is_buffer or _is_drawn(init, value)):
            found.append((attribute if _is_drawn(init, value) else "", one))
    return found if all(attribute for attribute, _ in found) else []


def _given(one: ast.stmt) -> tuple[str, ast.expr | None, bool]:
    """The attribute of `self` that a statement gives a value, the value, and whether that is a buffer for sure."""
    if isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and called_name(one.value) == "register_buffer":
        given = [*one.value.args, *(each.value for each in one.value.keywords if each.arg == "tensor")]
        name = given[0].value if given and isinstance(given[0], ast.Constant) else ""
        return (str(name), given[1], True) if len(given) > 1 else ("", None, True)
    if isinstance(one, ast.Assign) and len(one.targets) == 1:
        place = one.targets[0]
        if isinstance(place, ast.Attribute) and last_name(place.value) == "self":
            return place.attr, one.value, False
    return "", None, False


def _is_drawn(init: ast.FunctionDef, node: ast.expr | None) -> bool:
    """Whether a value is drawn, or filled with one number, up to a factor and its form; and needs no gradient."""
    for _ in range(_FAR):
        if isinstance(node, ast.Name):
            same = [one.value for one in ast.walk(init) if isinstance(one, ast.Assign) and _names(one, node.id)]
            node = same[0] if len(same) == 1 else None
        elif isinstance(node, ast.UnaryOp):
            node = node.operand
        elif isinstance(node, ast.BinOp):
            node = node.right if isinstance(node.left, ast.Constant | ast.Name) else node.left
        elif isinstance(node, ast.Call) and called_name(node) in _WRAPS and node.args:
            node = node.args[0]
        elif isinstance(node, ast.Call) and called_name(node) in _FORMS and isinstance(node.func, ast.Attribute):
            node = node.func.value
        else:
            break
    if not isinstance(node, ast.Call) or called_name(node) not in _DRAWS:
        return False
    return not any(one.arg in ("requires_grad", "dtype") for one in node.keywords)


def _names(one: ast.Assign, name: str) -> bool:
    return any(isinstance(place, ast.Name) and place.id == name for place in one.targets)


def _is_only_read(node: ast.ClassDef, attribute: str, statement: ast.stmt) -> bool:
    """Whether methods besides __init__ read an attribute, and none writes it: the one in which it is made may fill
    it."""
    inside = {id(one) for one in ast.walk(statement)}
    read = False
    for method in (one for one in node.body if isinstance(one, ast.FunctionDef)):
        for one in ast.walk(method):
            if isinstance(one, ast.Attribute) and one.attr == attribute and id(one) not in inside:
                read = read or method.name != "__init__"
                if not isinstance(one.ctx, ast.Load):
                    return False
            if method.name != "__init__" and _writes(one, attribute):
                return False
    return read


def _is_attribute(node: ast.AST, attribute: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == attribute


def _writes(node: ast.AST, attribute: str) -> bool:
    """`self.table.copy_(...)`, `self.table.data.mul_(...)`, `self.table[0] = ...`, `into(self.table)`."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        places = node.targets if isinstance(node, ast.Assign) else [node.target]
        return any(_is_attribute(one, attribute) for place in places for one in ast.walk(place))
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr.endswith("_"):
        return any(_is_attribute(one, attribute) for one in ast.walk(node.func))
    return any(one.arg == "out" and _is_attribute(one.value, attribute) for one in node.keywords)
