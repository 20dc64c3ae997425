"""Lines that divide by the inverse root of a width, or multiply by its root, read in the source.

What the number is called for is found where the name has one value only: in the function, the class, the module, or
in all calls that hand it over.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeGuard

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.source_lines import class_around
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_DIVIDES = ("div", "div_", "true_divide")
_CALLS = (*_DIVIDES, "mul", "mul_", "multiply")
_MODULE = "torch"
_ASKED = 3  # names behind names, at most
_ASSIGNMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_NUMBERS = ("float", "tensor", "to", "cuda", "cpu", "item", "float32")  # which change no number
_BUFFER, _ATTENTION = "register_buffer", "scaled_dot_product_attention"
_HALF = 0.5


@dataclass(frozen=True, slots=True)
class RootScale:
    """A number that a line divides by, or multiplies with; `made` is where it got its value, if it has a name."""

    divides: bool
    made: Site | None


def root_scales(case: Case) -> dict[tuple[str, int], RootScale]:
    """By file and line: the scales that are the inverse of what would keep products at their size."""
    found: dict[tuple[str, int], RootScale] = {}
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            for operand, divides in _operands(node):
                site = syntax(case).site(file, node.lineno) if isinstance(node, (ast.expr, ast.stmt)) else None
                value = None if site is None else _value(case, site, operand)
                if (
                    site is not None
                    and value is not None
                    and _is_power(case, file, value, -_HALF if divides else _HALF)
                ):
                    made = None if value is operand else syntax(case).site(file, value.lineno)
                    lines = range(site.line, (getattr(node, "end_lineno", None) or site.line) + 1)
                    found |= dict.fromkeys(((file, line) for line in lines), RootScale(divides, made))
    return found


def _operands(node: ast.AST) -> Iterator[tuple[ast.expr, bool]]:
    """What an expression or a statement divides something by (True), or multiplies it with."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Div, ast.Mult)):
        yield node.right, isinstance(node.op, ast.Div)
        if isinstance(node.op, ast.Mult):
            yield node.left, False
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Div, ast.Mult)):
        yield node.value, isinstance(node.op, ast.Div)
    elif isinstance(node, ast.Call) and called_name(node) == _ATTENTION:
        yield from ((one.value, False) for one in node.keywords if one.arg == "scale")
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and called_name(node) in _CALLS:
        is_function = isinstance(node.func.value, ast.Name) and node.func.value.id == _MODULE
        yield from ((one, called_name(node) in _DIVIDES) for one in node.args[int(is_function) :][:1])


def _value(case: Case, site: Site, node: ast.expr, asked: int = 0) -> ast.expr | None:
    """The expression that a name stands for, where there is one only; an expression itself."""
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return node
    if asked > _ASKED:
        return None
    text, function = ast.unparse(node), syntax(case).function(site)
    if isinstance(node, ast.Attribute):
        scopes: list[ast.AST | None] = [*_lineage(case, class_around(case, site))]
    else:
        scopes = [function, syntax(case).tree(site.file)]
        given = _given(case, site.file, function, text)
        if given is not None:
            return _only(case, site.file, given, asked)
    for scope in scopes:
        values = _names(case).given(scope, text)
        if values:
            return _only(case, site.file, values, asked)
    return None


def _lineage(case: Case, owner: ast.ClassDef | None) -> Iterator[ast.ClassDef]:
    """A class and what it inherits from, as far as the user's files have it."""
    classes = {one.name: one for file in syntax(case).files for one in syntax(case).nodes(file) if _is_class(one)}
    seen: set[str] = set()
    while owner is not None and owner.name not in seen:
        yield owner
        seen.add(owner.name)
        owner = next((classes[name] for name in map(last_name, owner.bases) if name in classes), None)


def _is_class(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    return isinstance(node, ast.ClassDef)


def _only(case: Case, file: str, values: list[ast.expr | None], asked: int) -> ast.expr | None:
    value = values[0] if len(values) == 1 else None
    return None if value is None else _value(case, syntax(case).site(file, value.lineno), value, asked + 1)


class _Names:
    """What names are given in each scope, which is gone through once."""

    def __init__(self) -> None:
        self._known: dict[ast.AST, dict[str, list[ast.expr | None]]] = {}

    def given(self, scope: ast.AST | None, text: str) -> list[ast.expr | None]:
        """What a name is given anywhere in a scope; None where it is changed, or given a part of something."""
        if scope is None:
            return []
        if scope not in self._known:
            self._known[scope] = defaultdict(list)
            for node in ast.walk(scope):
                for name, value in _assignments(node):
                    self._known[scope][name].append(value)
        return self._known[scope].get(text, [])


def _assignments(node: ast.AST) -> Iterator[tuple[str, ast.expr | None]]:
    if isinstance(node, ast.Call) and called_name(node) == _BUFFER and len(node.args) > 1:
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
        yield f"self.{name!s}", node.args[1]
    if isinstance(node, _ASSIGNMENTS):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield ast.unparse(target), None if isinstance(node, ast.AugAssign) else node.value
            for part in target.elts if isinstance(target, ast.Tuple) else ():
                yield ast.unparse(part), None


@kept
def _names(case: Case) -> _Names:
    return _Names()


def _given(case: Case, file: str, function: ast.AST | None, name: str) -> list[ast.expr | None] | None:
    """What the calls of a function in its file hand over by the name of a parameter; None where it is no parameter."""
    if not isinstance(function, ast.FunctionDef) or _names(case).given(function, name):
        return None
    places = [one.arg for one in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)]
    if name not in places:
        return None
    at = places.index(name) - (places[0] == "self")
    found: list[ast.expr | None] = []
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.Call) and called_name(node) == function.name:
            named = [one.value for one in node.keywords if one.arg == name]
            found += named or [node.args[at] if at < len(node.args) else None]
    return found


def _is_power(case: Case, file: str, node: ast.expr, power: float) -> bool:
    """Whether an expression is the root of something (0.5), or 1 divided by it (-0.5)."""
    if isinstance(node, ast.Call):
        return _gives_power(case, file, node, power)
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
        return not _is_handed_over(case, node.values[0]) and _is_power(case, file, node.values[-1], power)
    if not isinstance(node, ast.BinOp):
        return False
    if isinstance(node.op, ast.Pow):
        return _number(node.right) == power and _is_width(case, file, node.left)
    is_inverse = isinstance(node.op, ast.Div) and _number(node.left) == 1 and power < 0
    return is_inverse and _is_power(case, file, node.right, -power)


def _gives_power(case: Case, file: str, node: ast.Call, power: float) -> bool:
    name, arguments = called_name(node), _arguments(node)
    if name in _NUMBERS and arguments:  # of a method: what it is called on
        return _is_power(case, file, arguments[0], power)
    if name == "pow" and len(arguments) == 2:
        return _number(arguments[1]) == power and _is_width(case, file, arguments[0])
    return name == {_HALF: "sqrt", -_HALF: "rsqrt"}[power] and _is_width(case, file, (*arguments, node)[0])


def _is_handed_over(case: Case, node: ast.expr) -> bool:
    """Whether any call gives an argument by this name: then what stands behind `or` is not what counts."""
    calls = (one for file in syntax(case).files for one in syntax(case).nodes(file) if isinstance(one, ast.Call))
    return any(one.arg == last_name(node) for call in calls for one in call.keywords)


def _arguments(call: ast.Call) -> list[ast.expr]:
    """What a function or a method works on: of a method, what it is called on first."""
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    is_module = owner is None or (isinstance(owner, ast.Name) and owner.id in ("math", "np", "numpy", _MODULE))
    return [*([] if is_module or owner is None else [owner]), *call.args]


def _number(node: ast.expr) -> float | None:
    """The number that is written there: `-0.5`, `(-1 / 2)`, `1`."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        number = _number(node.operand)
        return None if number is None else -number
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        above, below = _number(node.left), _number(node.right)
        return above / below if above is not None and below else None
    return float(node.value) if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) else None


def _is_width(case: Case, file: str, node: ast.expr) -> bool:
    """Whether no part of an expression is a fraction, or a name that the file gives one: a width is whole."""
    names = {ast.unparse(one) for one in ast.walk(node) if isinstance(one, (ast.Name, ast.Attribute))}
    tree = syntax(case).tree(file)
    values = (value for name in names for value in _names(case).given(tree, name))
    expressions = [node, *(value for value in values if value is not None)]
    return not any(isinstance(one, ast.Div) for each in expressions for one in ast.walk(each))
