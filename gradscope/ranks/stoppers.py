"""The line that hands a measure to an object of the program's that says when a training stops."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, is_attribute_of
from gradscope.model.site import Site
from gradscope.ranks.given import Frame, bound_in
from gradscope.ranks.meetings import functions_that_meet, meets, without_meetings
from gradscope.ranks.syntax import JUMPS, Function, Loop, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_READS = frozenset(("item", "tolist", "backward"))
_SELF = 1  # parameters of a method that is given nothing


def handed_to(recording: Recording, flag: Site, loop: Loop, place: Site) -> Site | None:
    """The one line, in a loop at a place or else at all, that calls the method in which a flag is set by what that is
    given; None of a method that measures or meets others by itself, and where what it is given comes from all ranks."""
    tree = tree_of(recording, flag)
    method = function_around(tree, flag.line)
    classes = [node for node in nodes_of(tree) if isinstance(node, ast.ClassDef) and method in node.body]
    if method is None or not classes or not _compares(recording, method, flag.line):
        return None
    everywhere = list(_calls(recording, classes[-1].name, method.name))
    lines = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
    found = [one for one in everywhere if one[0].site.file == place.file and one[1].lineno in lines] or everywhere
    frame, call = found[0] if len(found) == 1 else (None, None)
    if frame is None or call is None or not any(_is_its_own(recording, frame, one) for one in _given(call)):
        return None
    return at_line(recording, frame.site, call.lineno)


def _compares(recording: Recording, method: Function, line: int) -> bool:
    """Whether what a method is given decides what a line of it sets."""
    functions = functions_that_meet(recording)
    calls = [node for node in ast.walk(method) if isinstance(node, ast.Call)]
    if any(called_name(one) in _READS or meets(functions, one) for one in calls):
        return False
    given = {one.arg for one in (*method.args.args, *method.args.kwonlyargs)[_SELF:]}
    assigned = [node for node in ast.walk(method) if isinstance(node, ast.Assign | ast.AugAssign)]
    asked = {name for node in assigned if node.lineno == line for name in _asked(method, node)}
    for _ in assigned:
        asked |= {name for node in assigned if asked & set(_targets(node)) for name in _asked(method, node)}
    return bool(asked & given)


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


def _calls(recording: Recording, made: str, method: str) -> Iterator[tuple[Frame, ast.Call]]:
    """The calls of a method of what is made of a class and held by a name or an attribute."""
    trees = {file: tree_of(recording, Site(file, 1)) for file in sorted(recording.sources())}
    nodes = [(file, node) for file, tree in trees.items() for node in nodes_of(tree)]
    held = {
        ast.unparse(target)
        for _, node in nodes
        if isinstance(node, ast.Assign)
        for target, value in _pairs(node)
        if isinstance(value, ast.Call) and called_name(value) == made
    }
    for file, node in nodes:
        if not isinstance(node, ast.Call):
            continue
        called = node.func.value if isinstance(node.func, ast.Attribute) and node.func.attr == method else None
        called = node.func if method == "__call__" else called
        around = function_around(trees[file], node.lineno) if called is not None else None
        if called is not None and ast.unparse(called) in held and around is not None:
            yield Frame(Site(file, node.lineno, around.name), trees[file], around), node


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What is assigned, one by one."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _is_its_own(recording: Recording, frame: Frame, value: ast.expr) -> bool:
    """Whether a value may be a rank's own: it is neither a number, nor what a collective gives."""
    bound = bound_in(frame, value.id, frame.site.line) if isinstance(value, ast.Name) else None
    seen = (without_meetings(recording, frame, one) for one in (value, *(bound[1:] if bound is not None else ())))
    return not any(isinstance(one, ast.Constant) for one in seen)
