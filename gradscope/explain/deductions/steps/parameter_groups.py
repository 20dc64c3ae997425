"""The groups that the source gives an optimizer, and which of them holds a parameter."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradscope.explain.deductions.lines.settings import argument, calls_at, handed_in
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack

_PARAMETERS = ("parameters", "named_parameters")
_HANDS_ON = ("list", "tuple", "iter", "filter", "chain", "from_iterable", "values", "items", "reversed")
_ADDS = ("append", "extend", "insert")
_COMMON = ("weight", "bias")  # names of parameters that tell no module
Said = dict[str, ast.expr]


@dataclass(frozen=True, slots=True)
class Group:
    """A group of an optimizer: what is said of it ("" for what is not written there), and in which frames.

    Parameters that are given without a dict make one of which nothing is said.
    """

    said: Said
    own: Stack = ()


_PLAIN = Group({})


def groups_of(case: Case, own: Stack, call: ast.Call) -> list[Group] | None:
    """The groups that a call at the top of these frames makes an optimizer of, and those that are added later.

    None where the source does not tell all of them.
    """
    given = argument(call, "params", 0)
    if given is None:
        return None
    search = _Search(case)
    search.add(own, given)
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.Call) and called_name(node) == "add_param_group":
                search.extend((syntax(case).site(file, node.lineno),), node.args)
    return search.run()


def holder(case: Case, groups: list[Group], path: Sequence[str]) -> Group | None:
    """The group that plainly holds a parameter: the only one, or the only one that names what the parameter is of.

    `path` leads to it, name by name.
    """
    if len(groups) == 1:
        return groups[0]
    named = [set(_named(case, one)) for one in groups]
    for part in reversed([one for one in path if one not in _COMMON or len(path) == 1]):
        found = [group for group, names in zip(groups, named, strict=True) if part in names]
        if found:
            return found[0] if len(found) == 1 else None
    return None


class _Search:
    """Follows what is given to an optimizer to the groups that are written down."""

    def __init__(self, case: Case) -> None:
        self._case, self._todo, self._seen = case, list[tuple[Stack, ast.AST]](), set[int]()
        self._found: list[Group] = []

    def add(self, own: Stack, value: ast.AST) -> None:
        """Look at an expression of the innermost of these frames, if it is new."""
        if id(value) not in self._seen:
            self._seen.add(id(value))
            self._todo.append((own, value))

    def extend(self, own: Stack, values: Sequence[ast.AST]) -> None:
        """Look at all of these."""
        for one in values:
            self.add(own, one)

    def run(self) -> list[Group] | None:
        """All groups, or None where an expression does not tell."""
        while self._todo:
            own, value = self._todo.pop()
            if not self._follow(own, value):
                return None
        return self._found

    def _follow(self, own: Stack, value: ast.AST) -> bool:
        said = _group_at(value)
        if said is not None:
            self._found.append(Group(said, own))
        elif isinstance(value, ast.Dict):
            self.extend(own, value.values)
        elif isinstance(value, ast.List | ast.Tuple):
            self.extend(own, value.elts)
        elif isinstance(value, ast.BinOp):
            self.extend(own, (value.left, value.right))
        elif isinstance(value, ast.Starred | ast.Subscript):
            self.add(own, value.value)
        elif isinstance(value, ast.ListComp | ast.GeneratorExp):
            self.add(own, value.elt if _group_at(value.elt) is not None else value.generators[-1].iter)
        elif isinstance(value, ast.Name):
            return self._name(own, value.id)
        else:
            return isinstance(value, ast.Call) and self._call(own, value)
        return True

    def _name(self, own: Stack, name: str) -> bool:
        """What a name was given in this function, as its argument, or at the top of the file."""
        scope = syntax(self._case).function(own[0]) if own else None
        if isinstance(scope, ast.FunctionDef) and name in {
            one.arg for one in ast.walk(scope.args) if isinstance(one, ast.arg)
        }:
            handed = handed_in(self._case, own, scope, name)
            if handed is not None:
                self.add(own[1:], handed)
            return handed is not None
        for around in (scope, syntax(self._case).tree(own[0].file) if own else None):
            values = list(_given(around, name)) if around is not None else []
            self.extend(own, values)
            if values:
                return True
        return False

    def _call(self, own: Stack, call: ast.Call) -> bool:
        name = called_name(call)
        if name in _PARAMETERS:
            self._found += [] if _PLAIN in self._found else [_PLAIN]
            return True
        if name in _HANDS_ON:
            hands = call.args or ([call.func.value] if isinstance(call.func, ast.Attribute) else [])
            self.extend(own, hands[-1:] if name == "filter" else hands)
            return bool(hands)
        bodies = list(_functions(self._case, name))
        if len(bodies) != 1:
            return False
        site, function = bodies[0]
        written = [one for one in ast.walk(function) if _group_at(one) is not None]
        returned = [one.value for one in ast.walk(function) if isinstance(one, ast.Return) and one.value is not None]
        self.extend((site, *own), written or returned)
        return bool(written or returned)


def _group_at(node: ast.AST) -> Said | None:
    """What a dict says, if it is that of a group: `{"params": ...}` or `dict(params=...)`."""
    found: Said = {}
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else ""
            found[name if isinstance(name, str) else ""] = value
    elif isinstance(node, ast.Call) and called_name(node) == "dict":
        found = {one.arg or "": one.value for one in node.keywords}
    return found if "params" in found else None


def _functions(case: Case, name: str) -> Iterator[tuple[Site, ast.FunctionDef]]:
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.FunctionDef) and node.name == name:
                yield syntax(case).site(file, node.body[0].lineno), node


def _given(scope: ast.AST, name: str) -> Iterator[ast.expr]:
    """All that a scope puts under a name or into the list of this name."""
    for node in ast.walk(scope):
        if (isinstance(node, ast.Assign) and any(last_name(one) == name for one in node.targets)) or (
            isinstance(node, ast.AugAssign) and last_name(node.target) == name
        ):
            yield node.value
        elif isinstance(node, ast.For) and any(last_name(one) == name for one in ast.walk(node.target)):
            yield node.iter
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ADDS:
            yield from node.args[-1:] if last_name(node.func.value) == name else ()


def _named(case: Case, group: Group) -> Iterator[str]:
    """The names and places that a group takes its parameters from, and not those by which it leaves some out."""
    value = group.said.get("params")
    scope = syntax(case).function(group.own[0]) if group.own else None
    first = _given(scope, value.id) if isinstance(value, ast.Name) and scope is not None else ()
    todo: list[ast.AST] = [*first] if value is None else [value, *first]
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Attribute | ast.Name):
            yield last_name(node)
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
        todo.extend(_taken(node))


def _taken(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        yield node.left
    elif isinstance(node, ast.comprehension):
        yield node.iter
    else:
        yield from (one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.Lambda | ast.Compare))


def call_at(case: Case, site: Site, name: str) -> ast.Call | None:
    """The call at a line that makes an object of a class, by its name; else the outermost one."""
    calls = calls_at(case, site)
    plain = [one for one in calls if called_name(one) == name]
    return next(iter(plain or calls), None)
