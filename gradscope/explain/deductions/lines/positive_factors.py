"""Whether the numbers by which lines multiply are above zero, as far as the program writes them down.

A name is followed by its own name: what defaults, keywords and assignments give it. One that is given anything else
than a number or a name like itself is not known, and nor is what is handed over below zero.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site

_FAR = 3  # names in a row
_SCALING = ("mul", "mul_", "multiply", "multiply_")


def are_positive(case: Case, sites: Iterable[Site | None], scaled: bool) -> bool:
    """Whether all factors that stand at some lines are numbers above zero; `scaled`: there is one beside `alpha`."""
    statements = [syntax(case).statement(site) for site in dict.fromkeys(sites) if site is not None]
    nodes = [node for one in statements if one is not None for node in ast.walk(one)]
    if None in statements or any(isinstance(one, ast.USub) for one in nodes):
        return False
    alphas = [one.value for one in nodes if isinstance(one, ast.keyword) and one.arg == "alpha"]
    products = [pair for one in nodes for pair in _factors(one)]
    return (
        bool(products) >= scaled
        and all(_is_positive(case, one) for one in alphas)
        and all(any(_is_positive(case, one) for one in pair) for pair in products)
    )


def _factors(node: ast.AST) -> Iterator[tuple[ast.expr, ...]]:
    """The factors of a product, one of which is a number."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        yield node.left, node.right
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
        yield (node.value,)
    elif isinstance(node, ast.Call) and called_name(node) in _SCALING:
        yield tuple(node.args)


def _is_positive(case: Case, value: ast.expr, far: int = _FAR) -> bool:
    """Whether an expression is a number above zero, or one minus a number below one."""
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
        from_one = isinstance(value.left, ast.Constant) and value.left.value == 1
        return from_one and _are_below_one(_given_to(case, value.right))
    number = _number(value)
    if number is not None:
        return number > 0
    given = _given_to(case, value) if far else []
    return bool(given) and all(_is_positive(case, one, far - 1) for one in given)


def _are_below_one(values: list[ast.expr]) -> bool:
    numbers = [_number(one) for one in values]
    return bool(numbers) and all(one is not None and 0 <= one < 1 for one in numbers)


def _given_to(case: Case, value: ast.expr) -> list[ast.expr]:
    """The values that the program gives a name, which stands for itself where it is a number."""
    if _number(value) is not None:
        return [value]
    name = last_name(value)
    nodes = [node for file in syntax(case).files for node in syntax(case).nodes(file)] if name else []
    given = [one for node in nodes for one in _given(node, name)]
    given += [one for node in nodes for owner in _owners(node, name) for one in _handed(nodes, owner)]
    return [one for one in given if last_name(one) != name]


def _number(value: ast.expr) -> float | None:
    sign = -1 if isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub) else 1
    one = value.operand if isinstance(value, ast.UnaryOp) and sign < 0 else value
    if isinstance(one, ast.Constant) and isinstance(one.value, int | float):
        return sign * float(one.value)
    return None


def _given(node: ast.AST, name: str) -> Iterator[ast.expr]:
    """What an assignment, a loop, a keyword or a default gives a name."""
    if isinstance(node, ast.keyword) and node.arg == name:
        yield node.value
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _assigned(target, node.value, name)
    elif isinstance(node, ast.AnnAssign) and last_name(node.target) == name:
        yield node.value or node.target
    elif isinstance(node, ast.AugAssign) and last_name(node.target) == name:
        yield ast.BinOp(node.target, node.op, node.value)
    elif isinstance(node, ast.For | ast.comprehension):
        yield from (node.iter for one in ast.walk(node.target) if isinstance(one, ast.Name) and one.id == name)
    elif isinstance(node, ast.arguments):
        plain = [*node.posonlyargs, *node.args]
        keyed = zip(node.kwonlyargs, node.kw_defaults, strict=True)
        pairs = [*zip(reversed(plain), reversed(node.defaults), strict=False), *keyed]
        yield from (value for one, value in pairs if one.arg == name and value is not None)


def _assigned(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    if last_name(target) == name:
        yield value
    elif isinstance(target, ast.Tuple):
        values = value.elts if isinstance(value, ast.Tuple) else [value] * len(target.elts)
        yield from (one for part, one in zip(target.elts, values, strict=False) if last_name(part) == name)


def _owners(node: ast.AST, name: str) -> Iterator[str]:
    """What calls that hand over a parameter of this name may call: its function, or the class that it makes."""
    if isinstance(node, ast.FunctionDef) and _takes(node, name):
        yield node.name
    for one in node.body if isinstance(node, ast.ClassDef) else ():
        if isinstance(one, ast.FunctionDef) and one.name == "__init__" and _takes(one, name):
            yield getattr(node, "name", "")


def _takes(function: ast.FunctionDef, name: str) -> bool:
    return any(one.arg == name for one in (*function.args.args, *function.args.kwonlyargs))


def _handed(nodes: list[ast.AST], owner: str) -> Iterator[ast.expr]:
    """The numbers below zero that calls of a function hand over, whichever parameter they are for."""
    for node in nodes:
        if isinstance(node, ast.Call) and called_name(node) == owner:
            yield from (one for one in node.args if (_number(one) or 0) < 0)
