"""What sets an attribute anew, and the functions that do nothing else: `reset()`, and what calls it for each part.

The surprise: a forward that begins its state itself, where it has none yet, sets it anew as well, and resets nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name

_FRESH = ("zeros", "ones", "full", "empty", "randn", "rand", "tensor", "Tensor", "detach")
_FRESH_CALLS = frozenset(
    (*_FRESH, *(f"{one}_like" for one in _FRESH), *(f"new_{one}" for one in _FRESH), "list", "dict", "deque")
)
_SAME_VALUE = ("to", "cuda", "cpu", "clone", "requires_grad_", "expand", "repeat", "type", "float", "double", "half")
_EMPTIES, _PUTS = ("clear", "detach_"), ("append", "appendleft", "insert", "extend", "update")
_PLAIN = (ast.Pass, ast.Return, ast.Continue, ast.If, ast.For)


@dataclass(frozen=True, slots=True)
class Store:
    """A place that sets an attribute, or a part of what it holds, to a fresh value or to a computed one."""

    node: ast.stmt
    attribute: str
    is_anew: bool


def stores(scope: ast.AST) -> Iterator[Store]:
    """What a piece of code sets of attributes: `self.state = ...`, `self.states[0] = ...`, `setattr(...)`."""
    fresh = _fresh_names(scope)
    for node in ast.walk(scope):
        if isinstance(node, ast.Assign):
            for target, value in _pairs(node):
                name = _attribute(target)
                if name:
                    yield Store(node, name, _is_fresh(value, fresh))
        elif isinstance(node, ast.AugAssign) and _attribute(node.target):
            yield Store(node, _attribute(node.target), False)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield from _stored_by_call(node, node.value, fresh)


def attributes_read(node: ast.AST) -> set[str]:
    """The attributes that a piece of code reads."""
    reads = (one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load))
    return {one.attr for one in reads}


def resetting(case: Case, attribute: str) -> frozenset[str]:
    """The names of the functions that set an attribute anew and do nothing else with it, and of those that do nothing
    but call such a one."""
    known, found = [one for _, one in syntax(case).functions], set[str]()
    for one in known:
        kinds = {store.is_anew for store in stores(one) if store.attribute == attribute}
        if kinds == {True} and one.name not in ("__init__", "forward"):
            found.add(one.name)
    new = found
    while new:
        new = {one.name for one in known if one.name not in found and _only_resets(one, found)}
        found |= new
    return frozenset(found)


def resets(call: ast.Call, names: Collection[str]) -> bool:
    """Whether a call is one of some functions, or hands it on to be called: `model.apply(reset)`."""
    return called_name(call) in names or (
        called_name(call) == "apply" and any(isinstance(one, ast.Name) and one.id in names for one in call.args)
    )


def _only_resets(function: ast.FunctionDef, names: set[str]) -> bool:
    """Whether a function does nothing but call some others, and set attributes anew."""
    anew = {id(store.node) for store in stores(function) if store.is_anew}
    is_called = False
    for node in ast.walk(function):
        if not isinstance(node, ast.stmt) or node is function or isinstance(node, _PLAIN) or id(node) in anew:
            continue
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Call) and resets(value, names):
            is_called = True
        elif not isinstance(value, ast.Constant):
            return False
    return is_called


def _pairs(assign: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment sets, and to what: of `self.hidden, self.cell = None, None` each by itself."""
    value = assign.value
    for target in assign.targets:
        places = target.elts if isinstance(target, ast.Tuple) else [target]
        values = value.elts if isinstance(value, ast.Tuple) and isinstance(target, ast.Tuple) else []
        yield from zip(places, values if len(values) == len(places) else [value] * len(places), strict=True)


def _attribute(target: ast.expr) -> str:
    """The attribute that is set, or of which a part is."""
    while isinstance(target, ast.Subscript):
        target = target.value
    return target.attr if isinstance(target, ast.Attribute) else ""


def _stored_by_call(node: ast.Expr, call: ast.Call, fresh: set[str]) -> Iterator[Store]:
    """`self.states.append(state)`, `self.states.clear()`, `setattr(layer, "state", None)`."""
    name = called_name(call)
    if isinstance(call.func, ast.Attribute) and name in (*_EMPTIES, *_PUTS) and _attribute(call.func.value):
        yield Store(node, _attribute(call.func.value), name in _EMPTIES)
    elif name == "setattr" and len(call.args) == 3 and isinstance(call.args[1], ast.Constant):
        yield Store(node, str(call.args[1].value), _is_fresh(call.args[2], fresh))


def _fresh_names(scope: ast.AST) -> set[str]:
    """The names of a function that are set to nothing but fresh values, those with such a default among them."""
    given = set[str]()
    if isinstance(scope, ast.FunctionDef):
        names = [one.arg for one in scope.args.args]
        given = set(names[len(names) - len(scope.args.defaults) :])
    places = (pair for one in ast.walk(scope) if isinstance(one, ast.Assign) for pair in _pairs(one))
    named = [(target.id, value) for target, value in places if isinstance(target, ast.Name)]
    computed = {name for name, value in named if not _is_fresh(value, given)}
    return (given | {name for name, _ in named}) - computed


def _is_fresh(value: ast.expr, names: set[str]) -> bool:
    """Whether a value has no history: None, zeros, an empty list, what detach() gives, several of these."""
    waiting: list[ast.expr | None] = [value]
    for one in waiting:  # grows while it is walked
        if isinstance(one, (ast.List, ast.Tuple, ast.Set)):
            waiting += one.elts
        elif isinstance(one, ast.Dict):
            waiting += one.values
        elif isinstance(one, (ast.ListComp, ast.GeneratorExp)):
            waiting.append(one.elt)
        elif isinstance(one, ast.DictComp):
            waiting.append(one.value)
        elif isinstance(one, ast.IfExp):
            waiting += [one.body, one.orelse]
        elif isinstance(one, ast.BinOp) and isinstance(one.left, ast.List):
            waiting.append(one.left)
        elif isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) and one.func.attr in _SAME_VALUE:
            waiting.append(one.func.value)
        elif not _is_fresh_alone(one, names):
            return False
    return True


def _is_fresh_alone(value: ast.expr | None, names: set[str]) -> bool:
    if isinstance(value, ast.Call):
        return called_name(value) in _FRESH_CALLS
    is_data = isinstance(value, ast.Attribute) and value.attr == "data"
    return is_data or isinstance(value, ast.Constant) or (isinstance(value, ast.Name) and value.id in names)
