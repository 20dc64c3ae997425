"""Where tensors are held that a line goes through: an attribute of a class of the program's, a variable of a function;
and which of these places a line brings up to date, and from which it takes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.ranks.source.attributes import class_of
from gradscope.ranks.source.given import Frame, bound_in, passed_to, unconverted
from gradscope.store.reader import Recording

_LISTS = frozenset(
    ("parameters", "named_parameters", "buffers", "named_buffers", "values", "items", "state_dict", "float", "detach")
)
_THROUGH = frozenset(("zip", "enumerate", "list", "tuple", "iter", "reversed", "sorted"))
_SAME = frozenset(("data", "module"))  # attributes that are the tensor, or the model, itself
_LOADS = "load_state_dict"
_LONGEST = 16  # steps from name to name


def taken_from(recording: Recording, frames: list[Frame]) -> set[str]:
    """The places from which the innermost line takes what it writes."""
    return set(_held(recording, frames, _given(frames[0])))


def brought_up_to_date(recording: Recording, frames: list[Frame]) -> set[str]:
    """The places in which the innermost line puts something."""
    return set(_held(recording, frames, _receiving(frames[0])))


def _given(frame: Frame) -> Iterator[ast.expr]:
    for node in _on_the_line(frame):
        if isinstance(node, ast.Call) and (_writes(node) or called_name(node) == _LOADS):
            yield from node.args
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript | ast.Attribute):
            yield node.value


def _receiving(frame: Frame) -> Iterator[ast.expr]:
    for node in _on_the_line(frame):
        if isinstance(node, ast.Call) and (_writes(node) or called_name(node) == _LOADS):
            yield from [node.func.value] if isinstance(node.func, ast.Attribute) else []
            yield from node.args[:1] if (called_name(node) or "").startswith("_foreach_") else []
        elif isinstance(node, ast.Assign):
            yield from (one for one in node.targets if isinstance(one, ast.Subscript | ast.Attribute))
        elif isinstance(node, ast.AugAssign):
            yield node.target


def _on_the_line(frame: Frame) -> Iterator[ast.AST]:
    """What stands on a line, as statements and calls."""
    found = (node for node in ast.walk(frame.function) if isinstance(node, ast.Call | ast.Assign | ast.AugAssign))
    yield from (one for one in found if one.lineno <= frame.site.line <= (one.end_lineno or 0))


def _writes(call: ast.Call) -> bool:
    """Whether a call is of what writes in place, by its name."""
    name = called_name(call) or ""
    return name.endswith("_") and not name.endswith("__")


def _held(recording: Recording, frames: list[Frame], values: Iterator[ast.expr]) -> Iterator[str]:
    found = (_place(recording, frames, value) for value in values)
    return (one for one in found if one is not None)


def _place(recording: Recording, frames: list[Frame], value: ast.expr) -> str | None:
    """A text that is the same for what is held by the same attribute or variable; None where nothing tells."""
    line = frames[0].site.line
    for _ in range(_LONGEST):
        inside = _inside(unconverted(value))
        if inside is not None:
            value = inside
            continue
        if isinstance(value, ast.Attribute):
            own = class_of(recording, frames, value.value)
            return None if own is None else f"{own.file}: {own.node.name}.{value.attr}"
        if not isinstance(value, ast.Name):
            return None
        bound = bound_in(frames[0], value.id, line)
        passed = passed_to(frames, 0, value.id) if bound is None else None
        if passed is not None:
            frames, value = frames[1:], passed
            line = frames[0].site.line
        elif bound is not None and _leads_on(element := _element(frames[0], value.id, *bound)):
            line, value = bound[0], element
        else:
            return None if bound is None else f"{frames[0].site.file}: {bound[0]} {value.id}"
    return None


def _leads_on(value: ast.expr) -> bool:
    return isinstance(value, ast.Name | ast.Attribute) or _inside(value) is not None


def _inside(value: ast.expr) -> ast.expr | None:
    """What holds what a value is a part of, or goes through."""
    if isinstance(value, ast.Subscript) or (isinstance(value, ast.Attribute) and value.attr in _SAME):
        return value.value
    if not isinstance(value, ast.Call):
        return None
    if isinstance(value.func, ast.Attribute) and value.func.attr in _LISTS:
        return value.func.value
    return value.args[0] if called_name(value) in _THROUGH and len(value.args) == 1 else None


def _element(frame: Frame, name: str, line: int, value: ast.expr) -> ast.expr:
    """What a name is given of what a loop goes through: of several at once, its own."""
    loops = (node for node in ast.walk(frame.function) if isinstance(node, ast.For) and node.lineno == line)
    target = next((node.target for node in loops), None)
    while isinstance(target, ast.Tuple) and isinstance(value, ast.Call):
        own = [
            each for each in target.elts if any(isinstance(one, ast.Name) and one.id == name for one in ast.walk(each))
        ]
        at = target.elts.index(own[0]) if own else 0
        if called_name(value) == "zip" and len(value.args) == len(target.elts):
            target, value = own[0] if own else None, value.args[at]
        elif called_name(value) == "enumerate" and at == 1 and value.args:
            target, value = own[0], value.args[0]
        else:
            break
    return value
