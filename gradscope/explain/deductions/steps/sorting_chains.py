"""Loops over named_parameters() that sort by if and elif, and have no else: what no test takes falls through.

The tests are worked out for the names and sizes that were recorded; one that can not be, says nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from gradscope.explain.deductions.steps.groups_left_out import scopes
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, names_in
from gradscope.model.flow import FlowTensor
from gradscope.model.site import Site

_NOWHERE = -1
_ADDING = ("append", "extend", "add")
_COMPARED: dict[type[ast.cmpop], Callable[[int, int], bool]] = {
    ast.Eq: int.__eq__,
    ast.NotEq: int.__ne__,
    ast.Lt: int.__lt__,
    ast.LtE: int.__le__,
    ast.Gt: int.__gt__,
    ast.GtE: int.__ge__,
}


@dataclass(frozen=True, slots=True)
class FallenThrough:
    """The last test of a chain, and the parameters that it and those before it let through."""

    site: Site
    leaves: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Chain:
    """The tests of a loop's chain, and what the loop calls the name and the parameter."""

    name: str
    parameter: str
    tests: tuple[ast.expr, ...]


def fallen_through(case: Case, unheld: Iterable[FlowTensor], held: Iterable[FlowTensor]) -> Iterator[FallenThrough]:
    """Where a chain takes what optimizers hold by two tests or more, and none takes some others of another kind.

    Fewer than it takes, and smaller: adapters that are sorted out of a large model leave that on purpose.
    """
    given = [one for one in held if one.leaf is not None]
    kinds = {_kind(one) for one in given}
    others = [one for one in unheld if one.leaf is not None and _kind(one) not in kinds]
    for file, scope in scopes(case) if others else ():
        for chain in filter(None, map(_chain, ast.walk(scope))):
            places = {_place(chain, one) for one in given} - {None, _NOWHERE}
            taken = [one for one in given if _place(chain, one) in places]
            left = [one for one in others if _place(chain, one) == _NOWHERE]
            if left and len(places) > 1 and len(left) < len(taken) and _size(left) < _size(taken):
                line = syntax(case).site(file, chain.tests[-1].lineno)
                yield FallenThrough(line, tuple(one.leaf or "" for one in left))


def forgets_part(case: Case, module: str) -> Site | None:
    """The last test of a chain that takes parts of a model by how their names begin, all but one, a module of a class.

    The names need not be known: the tests speak of attributes that are set beside the module's.
    """
    for file, scope in scopes(case):
        for chain in filter(None, map(_chain, ast.walk(scope))):
            begun = [_begins(test, chain) for test in chain.tests]
            names = set().union(*(one or () for one in begun))
            if all(begun) and any(_is_beside(owner, module, names) for owner in _classes(case)):
                return syntax(case).site(file, chain.tests[-1].lineno)
    return None


def _classes(case: Case) -> Iterator[ast.ClassDef]:
    for file in syntax(case).files:
        yield from (node for node in syntax(case).nodes(file) if isinstance(node, ast.ClassDef))


def _begins(test: ast.expr, chain: _Chain) -> set[str] | None:
    """`encoder` of `name.startswith("encoder.")`, or of several such."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        parts = [_begins(one, chain) for one in test.values]
        return set().union(*(one or () for one in parts)) if all(parts) else None
    is_asked = isinstance(test, ast.Call) and ast.unparse(test.func) == f"{chain.name}.startswith"
    words = _words(test.args[0]) if isinstance(test, ast.Call) and is_asked and len(test.args) == 1 else None
    return None if words is None else {word.partition(".")[0] for word in words}


def _is_beside(owner: ast.ClassDef, module: str, names: set[str]) -> bool:
    """Whether a class sets attributes of these names, and one of another name to what a class of modules makes."""
    made = {
        target.attr: called_name(node.value) if isinstance(node.value, ast.Call) else ""
        for node in ast.walk(owner)
        if isinstance(node, ast.Assign)
        for targets in node.targets
        for target in ast.walk(targets)
        if isinstance(target, ast.Attribute)
    }
    of_that_class = [attribute for attribute, called in made.items() if called == module]
    return len(of_that_class) == 1 and names <= made.keys() and of_that_class[0] not in names


def _kind(tensor: FlowTensor) -> tuple[str, int]:
    return (tensor.leaf or "").rpartition(".")[2], len(tensor.type.shape)


def _size(tensors: list[FlowTensor]) -> int:
    return sum(prod(one.type.shape) for one in tensors)


def _chain(loop: ast.AST) -> _Chain | None:
    """The chain that is all of a loop over named_parameters(), each of whose branches puts the parameter in a list."""
    if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Tuple) or loop.orelse:
        return None
    calls = (one for one in ast.walk(loop.iter) if isinstance(one, ast.Call))
    targets = [one.id for one in loop.target.elts if isinstance(one, ast.Name)]
    if len(targets) != 2 or "named_parameters" not in map(called_name, calls):
        return None
    name, parameter = targets
    body = [one for one in loop.body if not _passes_frozen(one, parameter)]
    if len(body) == 1 and isinstance(body[0], ast.If) and _asks_frozen(body[0].test, parameter) and not body[0].orelse:
        body = body[0].body
    tests: list[ast.expr] = []
    while len(body) == 1 and isinstance(body[0], ast.If) and _adds(body[0].body, parameter):
        tests.append(body[0].test)
        body = body[0].orelse
    return _Chain(name, parameter, tuple(tests)) if len(tests) > 1 and not body else None


def _asks_frozen(test: ast.expr, parameter: str) -> bool:
    return ast.unparse(test) == f"{parameter}.requires_grad"


def _passes_frozen(statement: ast.stmt, parameter: str) -> bool:
    """`if not p.requires_grad: continue`."""
    return ast.unparse(statement) == f"if not {parameter}.requires_grad:\n    continue"


def _adds(body: list[ast.stmt], parameter: str) -> bool:
    """Whether a branch does nothing but to put the parameter somewhere."""
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Expr) else None
    return isinstance(value, ast.Call) and called_name(value) in _ADDING and parameter in names_in(*value.args)


def _place(chain: _Chain, tensor: FlowTensor) -> int | None:
    """Which test of a chain takes a parameter first; None where one before it can not be worked out."""
    for at, test in enumerate(chain.tests):
        answer = _answer(test, chain, tensor)
        if answer is not False:
            return None if answer is None else at
    return _NOWHERE


def _answer(test: ast.expr, chain: _Chain, tensor: FlowTensor) -> bool | None:
    """What a test says of a parameter, as far as it asks for its name or for how many sizes it has."""
    if isinstance(test, ast.BoolOp):
        answers = [_answer(one, chain, tensor) for one in test.values]
        decides = isinstance(test.op, ast.Or)
        return decides if decides in answers else None if None in answers else not decides
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = _answer(test.operand, chain, tensor)
        return None if answer is None else not answer
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, chain, tensor)
    if isinstance(test, ast.Call) and ast.unparse(test.func) == f"{chain.name}.endswith" and len(test.args) == 1:
        ends = _words(test.args[0])
        return None if ends is None else (tensor.leaf or "").endswith(ends)
    return None


def _compared(test: ast.Compare, chain: _Chain, tensor: FlowTensor) -> bool | None:
    """`"bias" in name`, `p.ndim > 1`."""
    left, asked, right = ast.unparse(test.left), test.ops[0], test.comparators[0]
    words = _words(test.left)
    if isinstance(asked, (ast.In, ast.NotIn)) and words is not None and ast.unparse(right) == chain.name:
        return (words[0] in (tensor.leaf or "")) is isinstance(asked, ast.In)
    sizes = (f"{chain.parameter}.ndim", f"{chain.parameter}.dim()", f"len({chain.parameter}.shape)")
    compare = _COMPARED.get(type(asked))
    if left in sizes and compare is not None and isinstance(right, ast.Constant) and isinstance(right.value, int):
        return compare(len(tensor.type.shape), right.value)
    return None


def _words(node: ast.expr) -> tuple[str, ...] | None:
    """The words that are written down, one or several."""
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    words = tuple(one.value for one in parts if isinstance(one, ast.Constant) and isinstance(one.value, str))
    return words if words and len(words) == len(parts) else None
