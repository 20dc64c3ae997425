"""Where what a collective gave is weighed by a number of samples of a rank's own, by the source."""

from __future__ import annotations

import ast
import enum
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from gradscope.functions.source import called_name, is_attribute_of, names_in
from gradscope.model.site import Site
from gradscope.ranks.source.given import parameters_of
from gradscope.ranks.source.meetings import MEETS, functions_that_meet, meets
from gradscope.ranks.source.syntax import Function, at_line, nodes_of, tree_of
from gradscope.store.reader import Recording

_DEPTH = 4  # functions in functions that are followed
_SIZES = frozenset(("size", "numel"))
_AS_IT_IS = frozenset(("float", "int", "tensor", "as_tensor", "to", "item", "double", "long", "max"))
_WEIGHS = frozenset(("lerp", "lerp_", "mul", "mul_", "add_"))


Bound = tuple[ast.expr, int | None]


class What(enum.Flag):
    """What a value is made of: what all ranks have alike, a rank's own number of samples, something of its own."""

    NOTHING = 0
    SHARED = enum.auto()
    COUNT = enum.auto()
    OWN = enum.auto()


@dataclass(frozen=True, slots=True)
class Weighed:
    """The line that weighs, that which gives it both, and the lines of the function that counts."""

    weighs: Site
    lines: range
    blamed: Site
    counts: range


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """A function with what it is given, and the places in it in which other ranks have a part."""

    file: str
    function: Function
    given: dict[str, What] = field(default_factory=dict)
    shared: frozenset[str] = frozenset()
    known: dict[int, What] = field(default_factory=dict)


class OwnWeights:
    """Looks through the functions of a program."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording
        self._meeting = functions_that_meet(recording)
        self._functions: dict[str, list[tuple[str, Function]]] = {}
        trees = {file: tree_of(recording, Site(file, 1)) for file in sorted(recording.sources())}
        for file, tree in trees.items():
            for node in nodes_of(tree):
                if isinstance(node, Function):
                    self._functions.setdefault(node.name, []).append((file, node))
        self._summed = {place for tree in trees.values() for place in _given_to_others(nodes_of(tree))}

    def found(self) -> Iterator[Weighed]:
        """Each line that keeps what is weighed so, with the function that counts."""
        for file, function in (one for several in self._functions.values() for one in several):
            calls = [node for node in ast.walk(function) if isinstance(node, ast.Call)]
            if not any(meets(self._meeting, one) for one in calls):
                continue
            scope = self._scope(file, function)
            around = Site(file, function.lineno, function.name)
            for node in self._weighing(scope):
                site = at_line(self._recording, around, node.lineno)
                yield Weighed(site, _lines(node), site, _lines(function))
            for call in calls:
                for inner in self._called(scope, call):
                    for node in self._weighing(inner) if self._is_given_both(inner) else ():
                        site = at_line(self._recording, Site(inner.file, 1, inner.function.name), node.lineno)
                        yield Weighed(
                            site, _lines(node), at_line(self._recording, around, call.lineno), _lines(function)
                        )

    def _scope(self, file: str, function: Function, given: dict[str, What] | None = None) -> _Scope:
        return _Scope(file, function, given or {}, frozenset(_given_to_others(ast.walk(function))))

    def _called(self, scope: _Scope, call: ast.Call, depth: int = _DEPTH) -> Iterator[_Scope]:
        """The functions of the program's that a call may be of, with what it gives them."""
        for file, function in self._functions.get(called_name(call), []):
            names = [name for name in parameters_of(function) if name not in ("self", "cls")]
            if len(call.args) + len(call.keywords) <= len(names):
                given = dict(zip(names, call.args, strict=False))
                given |= {one.arg: one.value for one in call.keywords if one.arg is not None}
                yield self._scope(
                    file, function, {name: self._what(scope, value, depth) for name, value in given.items()}
                )

    @staticmethod
    def _is_given_both(scope: _Scope) -> bool:
        return {What.SHARED, What.COUNT} <= set(scope.given.values())

    def _weighing(self, scope: _Scope) -> Iterator[ast.stmt]:
        """The statements that add to what is kept what was weighed so, and whose sum nobody takes over the ranks."""
        for node in ast.walk(scope.function):
            place, value = _kept(node)
            if not isinstance(node, ast.stmt) or place is None or value is None or place in self._summed:
                continue
            reached = _reached(scope.function, value)
            adds = not isinstance(node, ast.Assign) or any(place in map(ast.unparse, ast.walk(one)) for one in reached)
            if adds and any(self._is_weighed(scope, each) for one in reached for each in ast.walk(one)):
                yield node

    def _is_weighed(self, scope: _Scope, node: ast.AST) -> bool:
        """Whether it is a product of what all ranks have alike and a rank's own number."""
        return {What.SHARED, What.COUNT} <= {self._what(scope, side) for side in _sides(node)}

    def _what(self, scope: _Scope, value: ast.expr, depth: int = _DEPTH) -> What:
        if id(value) not in scope.known:
            scope.known[id(value)] = What.NOTHING  # while it is looked for: a total goes back to itself
            scope.known[id(value)] = self._found(scope, value, depth)
        return scope.known[id(value)]

    def _found(self, scope: _Scope, value: ast.expr, depth: int) -> What:
        of = _sized(value)
        if isinstance(value, ast.Name | ast.Attribute) and ast.unparse(value) in scope.shared:
            return What.SHARED
        if isinstance(value, ast.Constant) or is_attribute_of(value, "self"):
            return What.NOTHING
        if of is not None:
            return What.SHARED if What.SHARED in self._what(scope, of, depth) else What.COUNT
        if isinstance(value, ast.Name):
            return self._of_name(scope, value.id, depth)
        if isinstance(value, ast.Call):
            return self._of_call(scope, value, depth)
        return self._of_all(scope, [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)], depth)

    def _of_all(self, scope: _Scope, values: list[ast.expr], depth: int) -> What:
        found = What.NOTHING
        for one in values:
            found |= self._what(scope, one, depth)
        return found

    def _of_name(self, scope: _Scope, name: str, depth: int) -> What:
        """What a variable is bound to, by all lines of its function; else what the function is given."""
        bound = list(_bound(scope.function, name))
        if not bound:
            return scope.given.get(name, What.OWN if name in parameters_of(scope.function) else What.NOTHING)
        found = What.NOTHING
        for value, place in bound:
            found |= self._part(scope, value, place, depth)
        return found

    def _part(self, scope: _Scope, value: ast.expr, place: int | None, depth: int) -> What:
        """What a value is, or one of several that it gives, of which functions of the program return some each."""
        if place is not None and isinstance(value, ast.Tuple) and place < len(value.elts):
            return self._what(scope, value.elts[place], depth)
        if not isinstance(value, ast.Call) or not meets(self._meeting, value) or called_name(value) in MEETS:
            return self._what(scope, value, depth)
        found = What.NOTHING
        for inner in self._called(scope, value, depth - 1) if depth else ():
            for node in ast.walk(inner.function):
                if isinstance(node, ast.Return) and node.value is not None:
                    found |= self._part(inner, node.value, place, depth - 1)
        return found or What.OWN

    def _of_call(self, scope: _Scope, call: ast.Call, depth: int) -> What:
        if meets(self._meeting, call):
            return What.SHARED if called_name(call) in MEETS else self._part(scope, call, None, depth)
        given = [*call.args, *([call.func.value] if isinstance(call.func, ast.Attribute) else [])]
        found = self._of_all(scope, given, depth)
        return found if called_name(call) in _AS_IT_IS else found & ~What.COUNT or What.OWN


def _given_to_others(nodes: Iterable[ast.AST]) -> set[str]:
    """The places that collectives are given."""
    calls = (one for one in nodes if isinstance(one, ast.Call) and called_name(one) in MEETS)
    return {ast.unparse(one) for call in calls for one in call.args if isinstance(one, ast.Name | ast.Attribute)}


def _sized(value: ast.AST) -> ast.expr | None:
    """What a value tells the size of."""
    if isinstance(value, ast.Subscript) and isinstance(value.slice, ast.Constant):
        return _sized(value.value)
    if isinstance(value, ast.Attribute) and value.attr == "shape":
        return value.value
    if isinstance(value, ast.Call) and called_name(value) == "len" and value.args:
        return value.args[0]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _SIZES:
        return value.func.value
    return None


def _kept(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """The place that a statement adds something to, or assigns, and what."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target), node.value
    if isinstance(node, ast.Assign) and not isinstance(node.targets[0], ast.Tuple):
        return ast.unparse(node.targets[0]), node.value
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        return (ast.unparse(node.value.func.value), node.value) if node.value.func.attr.endswith("_") else (None, None)
    return None, None


def _sides(node: ast.AST) -> list[ast.expr]:
    """What is multiplied, or weighed by a method."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return [node.left, node.right]
    if isinstance(node, ast.Call) and called_name(node) in _WEIGHS:
        return [*node.args, *(one.value for one in node.keywords)]
    return []


def _bound(function: Function, name: str) -> list[Bound]:
    """What a variable is bound to in a function, or of which it is a part, and that part's place."""
    return _bindings(function).get(name, [])


@lru_cache(maxsize=1024)
def _bindings(function: Function) -> dict[str, list[Bound]]:
    """Of each function once: each variable is asked for again and again."""
    found: dict[str, list[Bound]] = defaultdict(list)
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Name):
                    found[target.id].append((node.value, None))
                for place, one in enumerate(target.elts if isinstance(target, ast.Tuple) else ()):
                    if isinstance(one, ast.Name):
                        found[one.id].append((node.value, place))
        elif isinstance(node, ast.For | ast.comprehension):
            names = (each.id for each in ast.walk(node.target) if isinstance(each, ast.Name))
            for name in names:
                found[name].append((node.iter, None))
    return dict(found)


def _reached(function: Function, value: ast.expr) -> list[ast.expr]:
    """A value, and what its variables are bound to, and theirs."""
    found, names = [value], set[str]()
    for one in found:
        new = names_in(one) - names
        names |= new
        found += [each for name in sorted(new) for each, _ in _bound(function, name)]
    return found


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
