"""Loops that freeze the parameters of a model but for those of certain names, read in the source.

`if not name.endswith(PARTS): p.requires_grad = False`, `if "lora_" not in name`, or `if part in name: continue` and the
same below. Which names they spare is worked out where the condition asks for constants.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site

_FLAG, _SETTER = "requires_grad", "requires_grad_"
Value = str | bool | tuple[str, ...]


class _UnknownError(Exception):
    """A part of a condition that is not worked out."""


@dataclass(frozen=True, slots=True)
class SparingLoop:
    """Such a loop: the line of its condition, the condition for sparing, and the names in it that are known."""

    site: Site
    test: ast.expr
    spares: bool  # the value of the test for what is spared
    variable: str
    known: Mapping[str, Value]
    over: ast.For

    def spared(self, name: str) -> bool:
        """Whether a parameter of that name is left as it is; False where that is not known."""
        try:
            return bool(_value(self.test, {**self.known, self.variable: name})) is self.spares
        except _UnknownError:
            return False


def sparing_loops(case: Case) -> Iterator[SparingLoop]:
    """Such loops of the user's files."""
    for file in syntax(case).files:
        known = _constants(syntax(case).tree(file))
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.For) and goes_over(node) == "named_parameters":
                found = _condition(node)
                names = node.target.elts if isinstance(node.target, ast.Tuple) else []
                if found is not None and len(names) == 2 and isinstance(names[0], ast.Name):
                    test, spares = found
                    site = syntax(case).site(file, test.lineno)
                    yield SparingLoop(site, test, spares, names[0].id, known, node)


def goes_over(loop: ast.For) -> str:
    """`parameters` of `for p in model.parameters()`."""
    return called_name(loop.iter) if isinstance(loop.iter, ast.Call) else ""


def freezes(node: ast.AST) -> ast.expr | None:
    """What a statement freezes: `p` of `p.requires_grad = False` and of `p.requires_grad_(False)`."""
    place, value = _switch(node)
    return place if isinstance(value, ast.Constant) and value.value is False else None


def thaws(node: ast.AST) -> ast.expr | None:
    """What a statement may thaw."""
    place, value = _switch(node)
    return None if isinstance(value, ast.Constant) and value.value is False else place


def _switch(node: ast.AST) -> tuple[ast.expr | None, ast.expr | None]:
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute) and node.targets[0].attr == _FLAG:
        return node.targets[0].value, node.value
    if isinstance(node, ast.Call) and called_name(node) == _SETTER and isinstance(node.func, ast.Attribute):
        given = [*node.args, *(one.value for one in node.keywords)]
        return node.func.value, given[0] if given else None
    return None, None


def _condition(loop: ast.For) -> tuple[ast.expr, bool] | None:
    """The condition of a loop that freezes all but what is named, and its value for what is spared."""
    first = loop.body[0]
    if not isinstance(first, ast.If) or first.orelse:
        return None
    if len(loop.body) == 1 and _only_freezes(first.body) and _says_not(first.test):
        return first.test, False
    skips = len(first.body) == 1 and isinstance(first.body[0], ast.Continue)
    return (first.test, True) if skips and _only_freezes(loop.body[1:]) and not _says_not(first.test) else None


def _only_freezes(body: list[ast.stmt]) -> bool:
    said = [one.value if isinstance(one, ast.Expr) else one for one in body]
    return len(said) == 1 and isinstance(freezes(said[0]), ast.Name)


def _says_not(test: ast.expr) -> bool:
    """Whether a condition asks for what is not named."""
    if isinstance(test, ast.BoolOp):
        return isinstance(test.op, ast.And) and all(map(_says_not, test.values))
    if isinstance(test, ast.Compare):
        return len(test.ops) == 1 and isinstance(test.ops[0], ast.NotIn | ast.NotEq)
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _constants(tree: ast.Module | None) -> dict[str, Value]:
    """The texts, and tuples of them, that a module names once."""
    given: dict[str, list[ast.expr]] = {}
    for one in ast.walk(tree) if tree is not None else ():
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            given.setdefault(one.id, [])
        if isinstance(one, ast.arg):
            given.setdefault(one.arg, []).extend([ast.Constant(0), ast.Constant(0)])
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
            given.setdefault(one.targets[0].id, []).append(one.value)
    found: dict[str, Value] = {}
    for name, values in given.items():
        try:
            if len(values) == 1:
                found[name] = _value(values[0], {})
        except _UnknownError:
            continue
    return found


def _value(node: ast.expr, known: Mapping[str, Value]) -> Value:
    """The value of a condition, or of a part of one."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.Name) and node.id in known:
        return known[node.id]
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return tuple(_text(_value(one, known)) for one in node.elts)
    return _answer(node, known)


def _answer(node: ast.expr, known: Mapping[str, Value]) -> bool:
    """Whether a condition holds."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return not _value(node.operand, known)
    if isinstance(node, ast.BoolOp):
        values = [bool(_value(one, known)) for one in node.values]
        return all(values) if isinstance(node.op, ast.And) else any(values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        return _compared(node.ops[0], _value(node.left, known), _value(node.comparators[0], known))
    if isinstance(node, ast.Call):
        return _called(node, known)
    raise _UnknownError


def _compared(how: ast.cmpop, left: Value, right: Value) -> bool:
    if isinstance(how, ast.In | ast.NotIn) and isinstance(right, str | tuple):
        return (_text(left) in right) is isinstance(how, ast.In)
    if isinstance(how, ast.Eq | ast.NotEq):
        return (left == right) is isinstance(how, ast.Eq)
    raise _UnknownError


def _called(node: ast.Call, known: Mapping[str, Value]) -> bool:
    """`name.endswith(...)`, `name.startswith(...)`, `any(part in name for part in PARTS)`."""
    name, given = called_name(node), node.args[0] if len(node.args) == 1 else None
    if given is None:
        raise _UnknownError
    if name in ("endswith", "startswith") and isinstance(node.func, ast.Attribute):
        text, ends = _text(_value(node.func.value, known)), _value(given, known)
        if not isinstance(ends, bool):
            return text.endswith(ends) if name == "endswith" else text.startswith(ends)
    if name in ("any", "all") and isinstance(given, ast.GeneratorExp | ast.ListComp) and len(given.generators) == 1:
        over = given.generators[0]
        parts = _value(over.iter, known)
        if isinstance(parts, tuple) and not over.ifs:
            each = [bool(_value(given.elt, {**known, last_name(over.target): one})) for one in parts]
            return any(each) if name == "any" else all(each)
    raise _UnknownError


def _text(value: Value) -> str:
    if isinstance(value, str):
        return value
    raise _UnknownError
