"""How many elements a list of the program's has, where the source says it by numbers."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from gradscope.functions.source import called_name
from gradscope.model.site import Site
from gradscope.ranks.source.attributes import class_around
from gradscope.ranks.source.given import Frame, bound_in, parameters_of
from gradscope.ranks.source.syntax import Function, nodes_of, tree_of
from gradscope.store.reader import Recording

_DEPTH = 16  # names and functions that are followed


@dataclass(frozen=True, slots=True)
class Lengths:
    """Follows names, arguments and returns in the sources of a recording."""

    recording: Recording
    call: ast.Call | None = None  # of the innermost function, where that is known

    def of(self, frames: list[Frame], value: ast.expr, depth: int = _DEPTH) -> int | None:
        """The length of a list, under the functions that lead to it."""
        if isinstance(value, ast.Name) and depth:
            return self._of_name(frames, value, depth - 1)
        if not depth:
            return None
        if isinstance(value, ast.ListComp) and len(value.generators) == 1 and not value.generators[0].ifs:
            return self.of(frames, value.generators[0].iter, depth - 1)
        if isinstance(value, ast.Call) and called_name(value) == "range" and len(value.args) == 1:
            return self._number(frames, value.args[0], depth - 1)
        return self._of_call(frames, value, depth - 1) if isinstance(value, ast.Call) else None

    def _of_name(self, frames: list[Frame], name: ast.Name, depth: int) -> int | None:
        filled = _filled_by(frames[0].function, name.id)
        found = self._bound(frames, name) if filled is None else (self, frames, filled)
        return None if found is None else found[0].of(*found[1:], depth)

    def _of_call(self, frames: list[Frame], call: ast.Call, depth: int) -> int | None:
        """The length of what the one function of a name returns."""
        found = [
            Frame(Site(file, node.lineno, node.name), tree_of(self.recording, Site(file, 1)), node)
            for file in sorted(self.recording.sources())
            for node in nodes_of(tree_of(self.recording, Site(file, 1)))
            if isinstance(node, Function) and node.name == called_name(call)
        ]
        returned = [node for one in found for node in ast.walk(one.function) if isinstance(node, ast.Return)]
        if len(found) != 1 or len(returned) != 1 or returned[0].value is None:
            return None
        inner = replace(found[0], site=replace(found[0].site, line=returned[0].lineno))
        caller = replace(frames[0], site=replace(frames[0].site, line=call.lineno))
        return Lengths(self.recording, call).of([inner, caller, *frames[1:]], returned[0].value, depth)

    def _number(self, frames: list[Frame], value: ast.expr, depth: int) -> int | None:
        if isinstance(value, ast.Constant):
            return value.value if isinstance(value.value, int) else None
        found = self._bound(frames, value) if isinstance(value, ast.Name) and depth else None
        return None if found is None else found[0]._number(*found[1:], depth - 1)

    def _bound(self, frames: list[Frame], name: ast.Name) -> tuple[Lengths, list[Frame], ast.expr] | None:
        """What a variable is bound to above a line of its function, or what the call gives for it, and where."""
        bound = bound_in(frames[0], name.id, frames[0].site.line)
        if bound is None and name.id in parameters_of(frames[0].function):
            given = _given(frames, name.id, self.call)
            return None if given is None else (Lengths(self.recording), frames[1:], given)
        part = None if bound is None else _part(frames[0].function, name.id, *bound)
        return None if part is None else (self, frames, part)


def _given(frames: list[Frame], name: str, call: ast.Call | None) -> ast.expr | None:
    """What a call gives for a parameter of a function, the only one of it on the caller's line where none is known."""
    if call is None and len(frames) > 1:
        names = {getattr(frames[0].function, "name", ""), *_class_of(frames[0])}
        nodes = [node for node in ast.walk(frames[1].function) if isinstance(node, ast.Call)]
        calls = [one for one in nodes if called_name(one) in names and one.lineno == frames[1].site.line]
        call = calls[0] if len(calls) == 1 else None
    if call is None or any(isinstance(one, ast.Starred) for one in call.args):
        return None
    names_in_order = [one for one in parameters_of(frames[0].function) if one != "self"]
    by_place = dict(zip(names_in_order, call.args, strict=False))
    return {**by_place, **{one.arg or "": one.value for one in call.keywords}}.get(name)


def _class_of(frame: Frame) -> set[str]:
    own = class_around(frame)
    return set() if own is None else {own.node.name}


def _part(function: ast.AST, name: str, line: int, value: ast.expr) -> ast.expr | None:
    """That of several values which one of several names is bound to; None where a loop binds it, or adds to it."""
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and node.lineno == line and node.value is value:
            names = [ast.unparse(one) for one in getattr(node.targets[0], "elts", node.targets)]
            values = value.elts if isinstance(value, ast.Tuple) else [value]
            return values[names.index(name)] if name in names and len(names) == len(values) else None
    return None


def _filled_by(function: ast.AST, name: str) -> ast.expr | None:
    """What the one loop goes through that puts something into a list, once each time, under no condition."""
    puts = [node for node in ast.walk(function) if isinstance(node, ast.Call) and _puts(node, name)]
    if len(puts) != 1 or called_name(puts[0]) != "append":
        return None
    loops = [node for node in ast.walk(function) if isinstance(node, ast.For) and puts[0] in ast.walk(node)]
    direct = [one for one in loops if any(isinstance(each, ast.Expr) and each.value is puts[0] for each in one.body)]
    skips = [one for loop in loops for one in ast.walk(loop) if isinstance(one, ast.Continue | ast.Break)]
    return direct[0].iter if len(loops) == len(direct) == 1 and not skips else None


def _puts(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == name
