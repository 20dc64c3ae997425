"""Where a parameter was made without the mark by which a program selects those whose gradients it averages."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_of, tree_of
from gradscope.store.reader import Recording

_ASKS = frozenset(("getattr", "hasattr"))
_SETS = "setattr"


def left_unmarked(recording: Recording, selected: Site, leaf: str) -> Site | None:
    """The line that makes what has a parameter, in a function that marks others of its kind; None where a condition
    goes by no mark, or one that nobody sets."""
    marks = _asked(tree_of(recording, selected), selected.line)
    setting = {function for mark in marks for function in _setting(recording, mark)}
    for site in made_by(recording, leaf) if setting else ():
        function = function_around(tree_of(recording, site), site.line) if site.origin is Origin.USER else None
        calls = [] if function is None else [one for one in ast.walk(function) if isinstance(one, ast.Call)]
        if function in setting or {called_name(one) for one in calls} & {one.name for one in setting}:
            return at_line(recording, site, site.line)
    return None


def made_by(recording: Recording, leaf: str) -> Stack:
    """Under which stack the memory of a parameter was made."""
    own = {one.storage for one in recording.flow_tensors() if one.parameter and one.leaf == leaf}
    storages = {one.number: one.storage for one in recording.flow_tensors()}
    made = (one for one in recording.flow() if one.backward is None and own & {storages[at] for at in one.makes})
    return next((one.operation.stack for one in made), ())


def _asked(tree: ast.Module, line: int) -> set[str]:
    """The attributes for which a condition of a line asks by their names, or as such; not one that must be missing."""
    found = set()
    for node in nodes_of(tree):
        tests = node.ifs if isinstance(node, ast.comprehension) else [node.test] if isinstance(node, ast.If) else []
        for one in (each for test in map(_unless, tests) if test.lineno == line for each in ast.walk(test)):
            name = one.args[1] if isinstance(one, ast.Call) and called_name(one) in _ASKS and one.args[1:] else None
            if isinstance(name, ast.Constant):
                found.add(str(name.value))
            elif isinstance(one, ast.Attribute):
                found.add(one.attr)
    return found


def _unless(test: ast.expr) -> ast.expr:
    """A condition, and nothing for one that is turned round."""
    turned = isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
    return ast.copy_location(ast.Constant(None), test) if turned else test


def _setting(recording: Recording, mark: str) -> Iterator[Function]:
    """The functions that set an attribute of something, but for their own object's."""
    for file in sorted(recording.sources()):
        for function in (one for one in nodes_of(tree_of(recording, Site(file, 1))) if isinstance(one, Function)):
            if any(_sets(node, mark) for node in ast.walk(function)):
                yield function


def _sets(node: ast.AST, mark: str) -> bool:
    if isinstance(node, ast.Call) and called_name(node) == _SETS:
        return any(isinstance(one, ast.Constant) and one.value == mark for one in node.args[1:2])
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(
        isinstance(one, ast.Attribute) and one.attr == mark and ast.unparse(one.value) != "self" for one in targets
    )
