"""The line by which the number of a rank decides which value it has: a choice in an expression, a branch that binds it,
or one under which something is put into what a rank goes through."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from gradscope.functions.source import called_name
from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import class_around
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_IS_ONE = re.compile(r"_?is_\w+(?:\(\))?$")  # a flag, or what is called for one
_PUTS = frozenset(("append", "extend", "insert", "add", "update", "setdefault", "appendleft", "pop", "remove"))


@dataclass(slots=True)
class _Fills:
    """The conditions of a rank under which something is put into what is looked at; `of`: what it then has to make."""

    recording: Recording
    of: str | None
    found: list[Site] = field(default_factory=list)
    asked: list[Site] = field(default_factory=list)  # where what only one rank has is asked for what all need

    def look(self, frames: list[Frame], value: ast.expr) -> ast.expr:
        """A value as it is, after what fills its names was looked for."""
        names = {ast.unparse(one) for one in ast.walk(value) if _is_place(one)}
        self.asked += [*self._asked(frames, names), *self._asked_at_once(frames, value)]
        for branch in _branches(frames[0].function):
            if any(_puts_into(one, names) for one in _inside(branch)):
                self._add(frames[0].site, branch)
        for one in ast.walk(value):
            if isinstance(one, ast.Attribute) and _is_place(one):
                self._by_a_method(one.attr)
        return value

    def _asked(self, frames: list[Frame], names: set[str]) -> Iterator[Site]:
        """The lines that bind one of some names to what an object gives, where there is one: by the rank."""
        for branch in (one for one in ast.walk(frames[0].function) if isinstance(one, ast.If)):
            holder = _is_there(branch.test)
            bound = [one for one in branch.body if isinstance(one, ast.Assign) and _holds(one.value, holder)]
            lines = [one.lineno for one in bound if {ast.unparse(each) for each in one.targets} & names]
            if lines and origin(self.recording, frames, branch.test, _chooses) is not None:
                yield at_line(self.recording, frames[0].site, lines[0])

    def _asked_at_once(self, frames: list[Frame], value: ast.expr) -> Iterator[Site]:
        """The line of a value that asks an object, where there is one: by the rank."""
        for node in (one for one in ast.walk(value) if isinstance(one, ast.IfExp)):
            asks = _holds(node.body, _is_there(node.test))
            if asks and origin(self.recording, frames, node.test, _chooses) is not None:
                yield at_line(self.recording, frames[0].site, node.lineno)

    def _by_a_method(self, name: str) -> None:
        """The conditions under which a method is called that puts what it is given into an attribute."""
        for file in sorted(self.recording.sources()):
            site = Site(file, 1, "")
            tree = tree_of(self.recording, site)
            own = {f"self.{name}"}
            methods = {
                one.name
                for one in nodes_of(tree)
                if isinstance(one, Function) and any(_puts_into(node, own) for node in ast.walk(one))
            }
            for branch in _branches(tree) if methods - _PUTS else ():
                if any(isinstance(one, ast.Call) and called_name(one) in methods - _PUTS for one in _inside(branch)):
                    self._add(site, branch)

    def _add(self, site: Site, branch: ast.If) -> None:
        names = {one.id for one in _inside(branch) if isinstance(one, ast.Name)}
        found = at_line(self.recording, site, branch.lineno)
        if self.of in names:
            self.found.insert(0, found)
        else:
            self.found.append(found)


def gone_through_by_rank(recording: Recording, stack: Stack) -> Site | None:
    """The line by which the rank decides what a loop goes through that leads to a line, the nearest loop first."""
    frames = frames_of(recording, stack)
    for at, frame in enumerate(frames):
        inner = class_around(frames[at - 1]) if at else None
        for value in _loops_around(frame):
            found = chosen_by_rank(recording, frames[at:], value, None if inner is None else inner.node.name)
            if found is not None:
                return found
    return None


def _loops_around(frame: Frame) -> Iterator[ast.expr]:
    """What the loops of a function go through that are around a line, the innermost first."""
    line = frame.site.line
    for node in reversed(list(ast.walk(frame.function))):
        if isinstance(node, ast.For | ast.AsyncFor) and node.lineno < line <= (node.end_lineno or 0):
            yield node.iter
        parts = node.generators if isinstance(node, ast.ListComp | ast.GeneratorExp) else []
        if parts and isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or 0):
            yield from (one.iter for one in parts)


def chosen_by_rank(recording: Recording, frames: list[Frame], value: ast.expr, of: str | None = None) -> Site | None:
    """The line of a choice by the rank from which a value comes, or that asks an object for it that one rank alone has;
    else the condition of the rank under which something is put into it: that of the class `of`, where several are."""
    fills = _Fills(recording, of)
    chosen = origin(recording, frames, value, _chooses, fills.look)
    return next(iter(fills.asked), None) or chosen or next(iter(fills.found), None)


def _is_there(test: ast.expr) -> str | None:
    """What a condition asks for whether it is there: `run` of `run is not None`, and of `run`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.IsNot) and _is_none(test.comparators[0]):
        test = test.left
    return ast.unparse(test) if _is_place(test) else None


def _holds(value: ast.expr, name: str | None) -> bool:
    return name is not None and name in map(ast.unparse, ast.walk(value))


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


def _chooses(value: ast.expr) -> bool:
    """Whether a value is a condition that asks for the rank, or has one in it by which one of two is taken."""
    if isinstance(value, ast.Compare | ast.BoolOp | ast.UnaryOp) or _IS_ONE.match(
        ast.unparse(value).rpartition(".")[2]
    ):
        return asks_for_rank(value)
    tests = [one.test for one in ast.walk(value) if isinstance(one, ast.IfExp)]
    either = [test for one in ast.walk(value) if isinstance(one, ast.BoolOp) for test in one.values[:-1]]
    return any(map(asks_for_rank, (*tests, *either)))


def _branches(tree: ast.AST) -> Iterator[ast.If]:
    return (one for one in nodes_of(tree) if isinstance(one, ast.If) and asks_for_rank(one.test))


def _inside(branch: ast.If) -> Iterator[ast.AST]:
    return (one for part in (*branch.body, *branch.orelse) for one in ast.walk(part))


def _puts_into(node: ast.AST, names: set[str]) -> bool:
    """Whether a statement puts something into one of some places, or takes it out."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target) in names
    if isinstance(node, ast.Assign):
        return any(isinstance(one, ast.Subscript) and ast.unparse(one.value) in names for one in node.targets)
    if isinstance(node, ast.Call) and called_name(node) in _PUTS and isinstance(node.func, ast.Attribute):
        return ast.unparse(node.func.value) in names
    return False


def _is_place(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Load)
