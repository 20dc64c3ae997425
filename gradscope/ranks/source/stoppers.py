"""The line that hands a measure to an object of the program's that says when a training stops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.site import Site
from gradscope.ranks.source.given import Frame, bound_in, parameters_of
from gradscope.ranks.source.meetings import functions_that_meet, meets, without_meetings
from gradscope.ranks.source.syntax import JUMPS, Function, Loop, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_READS = frozenset(("item", "tolist", "backward"))


def handed_to(recording: Recording, flag: Site, loop: Loop, place: Site) -> Site | None:
    """The one line, in a loop at a place or else at all, that calls the method in which a flag is set by what that is
    given; None of a method that measures or meets others by itself, and where what it is given comes from all ranks."""
    return given_to(recording, flag, place.file, range(loop.lineno, (loop.end_lineno or loop.lineno) + 1))


def given_to(recording: Recording, flag: Site, file: str = "", lines: range = range(0)) -> Site | None:
    """The one line, among some of a file or else at all, that calls the function of which a line sets something by what
    the function is given, and gives it a value of a rank's own for that."""
    tree = tree_of(recording, flag)
    function = function_around(tree, flag.line)
    decide = set() if function is None else _deciding(recording, function, flag.line)
    if function is None or not decide:
        return None
    owner = next(
        (node.name for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and function in node.body), None
    )
    everywhere = list(_calls(recording, owner, function.name))
    found = [one for one in everywhere if one[0].site.file == file and one[1].lineno in lines] or everywhere
    if len(found) != 1:
        return None
    frame, call = found[0]
    given = _given(call, function, decide)
    return at_line(recording, frame.site, call.lineno) if any(_is_own(recording, frame, one) for one in given) else None


def _deciding(recording: Recording, function: Function, line: int) -> set[str]:
    """The parameters of a function that decide what a line of it sets."""
    functions = functions_that_meet(recording)
    calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
    if any(called_name(one) in _READS or meets(functions, one) for one in calls):
        return set()
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AugAssign)]
    asked = {name for node in assigned if node.lineno == line for name in _asked(function, node)}
    for _ in assigned:
        asked |= {name for node in assigned if asked & set(_targets(node)) for name in _asked(function, node)}
    return asked & set(parameters_of(function))


def _asked(method: Function, node: ast.Assign | ast.AugAssign) -> Iterator[str]:
    """The names by which it is decided whether and to what something is assigned in a method."""
    yield from _names(node.value)
    above = [one for one in ast.walk(method) if isinstance(one, ast.If) and one.lineno < node.lineno]
    for one in above:
        if node.lineno <= (one.end_lineno or 0) or isinstance(one.body[-1], JUMPS):
            yield from _names(one.test)


def _targets(node: ast.Assign | ast.AugAssign) -> Iterator[str]:
    return _names(*(node.targets if isinstance(node, ast.Assign) else [node.target]))


def _names(*values: ast.expr) -> Iterator[str]:
    """The names in values, and what `self` holds."""
    for value in values:
        for node in ast.walk(value):
            if is_attribute_of(node, "self"):
                yield ast.unparse(node)
            elif isinstance(node, ast.Name) and node.id != "self":
                yield node.id


def _calls(recording: Recording, made: str | None, name: str) -> Iterator[tuple[Frame, ast.Call]]:
    """The calls of a method of what is made of a class and held by a name or an attribute; of a function outside of
    classes, by its name."""
    held = set() if made is None else _holders(recording, made)
    for file in sorted(recording.sources()):
        tree = tree_of(recording, Site(file, 1))
        for node in nodes_of(tree):
            around = function_around(tree, node.lineno) if isinstance(node, ast.Call) else None
            if isinstance(node, ast.Call) and around is not None and _is_of(node, held, made, name):
                yield Frame(Site(file, node.lineno, around.name), tree, around), node


def _is_of(call: ast.Call, held: set[str], made: str | None, name: str) -> bool:
    """Whether a call is of a method of one of what is held, or of a function by its name."""
    if made is None:
        return isinstance(call.func, ast.Name) and call.func.id == name
    if name == "__call__":
        return ast.unparse(call.func) in held
    return isinstance(call.func, ast.Attribute) and call.func.attr == name and ast.unparse(call.func.value) in held


def _holders(recording: Recording, made: str) -> set[str]:
    """What is made of a class is held by these names and attributes."""
    nodes = (node for file in recording.sources() for node in nodes_of(tree_of(recording, Site(file, 1))))
    return {
        ast.unparse(target)
        for node in nodes
        if isinstance(node, ast.Assign)
        for target, value in _pairs(node)
        if isinstance(value, ast.Call) and called_name(value) == made
    }


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned, one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _given(call: ast.Call, function: Function, names: set[str]) -> list[ast.expr]:
    """What a call gives for some parameters."""
    all_of_them = [name for name in parameters_of(function) if name != "self"]
    by_place = [value for name, value in zip(all_of_them, call.args, strict=False) if name in names]
    return by_place + [one.value for one in call.keywords if one.arg in names]


def _is_own(recording: Recording, frame: Frame, value: ast.expr) -> bool:
    """Whether a value may be a rank's own: it is neither a number, nor has it a part that a collective gives."""
    bound = bound_in(frame, value.id, frame.site.line) if isinstance(value, ast.Name) else None
    seen = [without_meetings(recording, frame, one) for one in (value, *(bound[1:] if bound is not None else ()))]
    return not any(isinstance(one, ast.Constant) for one in seen) and not any(map(_has_nothing, seen))


def _has_nothing(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Constant) and node.value is None for node in ast.walk(value))
