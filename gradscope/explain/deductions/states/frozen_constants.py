"""Parameters that a class makes with a plain requires_grad=False: constants that are parameters for want of a buffer.

What may be a weight that is frozen for a while only is left out: what the class was handed or loads, a number, what is
filled with one value, and what a comment says to learn later.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site
from gradscope.store.asked import kept

_SAME = {"clone", "detach", "float", "double", "half", "to", "type", "cpu", "cuda", "contiguous", "requires_grad_"}
_SHAPED = {"unsqueeze", "squeeze", "view", "reshape", "flatten", "t", "transpose", "permute", "expand", "repeat"}
_WRAPS = {"tensor", "as_tensor", "asarray", "from_numpy", "FloatTensor", "Tensor", "Parameter", "deepcopy"}
_UNIFORM = {"zeros", "ones", "full", "empty", "zeros_like", "ones_like", "full_like", "empty_like", "log", "sqrt"}
_LEARNED = {"weight", "bias"}  # by their names
_FOREIGN = re.compile(r"lora|adapter|pretrain|load", re.IGNORECASE)
_FOR_NOW = re.compile(r"\b(until|first|later|stage|phase|warm\w*|thaw\w*|un-?fr[eo]\w*|learn\w*|train\w*)\b", re.I)


@dataclass(frozen=True, slots=True)
class FrozenConstant:
    """Such a parameter: the class whose __init__ makes it, its attribute, and the line."""

    owner: str
    attribute: str
    site: Site


def frozen_constant(case: Case, owner: str, attribute: str) -> FrozenConstant | None:
    """What a class, or a base of it, makes so under a name; None where that is not sure."""
    waiting, seen = [owner], set[str]()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name not in _classes(case):
            continue
        seen.add(name)
        file, found = _classes(case)[name]
        if _assigned(found, attribute):
            return _made(case, file, found, attribute)
        waiting += [last_name(base) for base in found.bases]
    return None


def is_anyones(case: Case, attribute: str) -> bool:
    """Whether several classes have something of that name."""
    return sum(bool(_assigned(found, attribute)) for _, found in _classes(case).values()) > 1


@kept
def _classes(case: Case) -> dict[str, tuple[str, ast.ClassDef]]:
    """The classes of the source by name, without those of which there are two."""
    found: dict[str, list[tuple[str, ast.ClassDef]]] = {}
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append((file, node))
    return {name: ones[0] for name, ones in found.items() if len(ones) == 1}


def _assigned(found: ast.ClassDef, attribute: str) -> list[tuple[ast.stmt, ast.expr | None]]:
    """The statements of a class that give an attribute of `self` its value, with the value."""
    ones: list[tuple[ast.stmt, ast.expr | None]] = []
    for node in ast.walk(found):
        places = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            ones += [(node, node.value) for place in places if is_own(place, attribute)]
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            if called_name(call) == "register_parameter" and len(call.args) == 2 and _says(call.args[0], attribute):
                ones.append((node, call.args[1]))
    return ones


def is_own(node: ast.AST | None, attribute: str) -> bool:
    """`self.attribute`."""
    return isinstance(node, ast.Attribute) and node.attr == attribute and last_name(node.value) == "self"


def _says(node: ast.expr, value: object) -> bool:
    return isinstance(node, ast.Constant) and node.value == value


def _made(case: Case, file: str, found: ast.ClassDef, attribute: str) -> FrozenConstant | None:
    init = next((one for one in found.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    assigned = _assigned(found, attribute)
    if init is None or len(assigned) != 1 or attribute in _LEARNED or _FOREIGN.search(ast.unparse(found)):
        return None
    statement, value = assigned[0]
    call = _parameter(value)
    if statement not in init.body or call is None or not (_is_frozen(value) or _is_frozen_after(init, attribute)):
        return None
    data = _data(call)
    is_constant = _is_constant(init, data) or (_is_uniform(init, data) and _is_filled(found, attribute))
    if not is_constant or _is_for_now(case, file, statement):
        return None
    return FrozenConstant(found.name, attribute, syntax(case).site(file, statement.lineno))


def _parameter(value: ast.expr | None) -> ast.Call | None:
    """The call that makes a parameter, with or without a `.requires_grad_(...)` behind it."""
    if isinstance(value, ast.Call) and called_name(value) == "requires_grad_" and isinstance(value.func, ast.Attribute):
        value = value.func.value
    return value if isinstance(value, ast.Call) and called_name(value) == "Parameter" else None


def _data(call: ast.Call) -> ast.expr | None:
    named = (one.value for one in call.keywords if one.arg == "data")
    return call.args[0] if call.args else next(named, None)


def _is_frozen(value: ast.expr | None) -> bool:
    """`Parameter(data, requires_grad=False)`, `Parameter(data, False)`, `Parameter(data).requires_grad_(False)`."""
    if not isinstance(value, ast.Call):
        return False
    given = value.args if called_name(value) == "requires_grad_" else value.args[1:]
    named = [one.value for one in value.keywords if one.arg == "requires_grad"]
    return any(_says(one, False) for one in (*given, *named))


def _is_frozen_after(init: ast.FunctionDef, attribute: str) -> bool:
    """Whether the same __init__ goes on to freeze it, in any case."""
    for one in init.body:
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Attribute):
            place, asked = one.targets[0], _says(one.value, False)
            if asked and place.attr == "requires_grad" and is_own(place.value, attribute):
                return True
        call = one.value if isinstance(one, ast.Expr) else None
        own = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and is_own(call.func.value, attribute)
        if own and isinstance(call, ast.Call) and called_name(call) == "requires_grad_" and _is_frozen(call):
            return True
    return False


def _is_constant(function: ast.FunctionDef, node: ast.expr | None) -> bool:
    """Whether a value is computed here, and is not a single one, and nothing that was handed over or loaded."""
    node = _origin(function, node)
    if isinstance(node, ast.BinOp):
        return _is_constant(function, node.left) or _is_constant(function, node.right)
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts) > 1
    if isinstance(node, ast.Call):
        return called_name(node) not in _UNIFORM
    return isinstance(node, ast.Name) and node.id not in _arguments(function) and _assigns(function, node.id) == []


def _is_uniform(function: ast.FunctionDef, node: ast.expr | None) -> bool:
    node = _origin(function, node)
    return isinstance(node, ast.Call) and called_name(node) in _UNIFORM


def _origin(function: ast.FunctionDef, node: ast.expr | None) -> ast.expr | None:
    """What a value is before it is copied, turned and given names."""
    for _ in range(100):
        if isinstance(node, ast.Name) and len(_assigns(function, node.id)) == 1:
            inner: ast.expr | None = _assigns(function, node.id)[0]
        elif isinstance(node, ast.UnaryOp):
            inner = node.operand
        elif isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr in ("data", "T")):
            inner = node.value
        elif isinstance(node, ast.Call) and called_name(node) in _WRAPS:
            inner = _data(node)
        elif isinstance(node, ast.Call) and called_name(node) in _SAME | _SHAPED:
            inner = node.func.value if isinstance(node.func, ast.Attribute) else None
        else:
            return node
        node = inner
    return None


def _assigns(function: ast.FunctionDef, name: str) -> list[ast.expr]:
    """The values that a function gives a name."""
    ones = (one for one in ast.walk(function) if isinstance(one, ast.Assign))
    return [one.value for one in ones if any(isinstance(place, ast.Name) and place.id == name for place in one.targets)]


def _arguments(function: ast.FunctionDef) -> set[str]:
    given = function.args
    return {one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)}


def _is_filled(found: ast.ClassDef, attribute: str) -> bool:
    """Whether the class writes a constant into it before it is used: `self.table.data.copy_(waves)`."""
    methods = [one for one in found.body if isinstance(one, ast.FunctionDef)]
    return any(_is_constant(method, value) for method in methods for value in _fills(method, attribute))


def _fills(method: ast.FunctionDef, attribute: str) -> Iterator[ast.expr]:
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and called_name(node) == "copy_" and isinstance(node.func, ast.Attribute):
            if node.args and _is_part(node.func.value, attribute):
                yield node.args[0]
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute | ast.Subscript):
            place = node.targets[0]
            yield from [node.value] if _is_part(place, attribute) and not is_own(place, attribute) else []


def _is_part(node: ast.expr, attribute: str) -> bool:
    """`self.table`, `self.table.data`, `self.table.data[:, 0::2]`."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "data"):
        node = node.value
    return is_own(node, attribute)


def _is_for_now(case: Case, file: str, statement: ast.stmt) -> bool:
    """Whether a comment at a statement or above it says that it is to learn."""
    lines = syntax(case).parsed(file).lines
    first = statement.lineno - 1
    while first > 0 and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    told = (line.partition("#")[2] for line in lines[first : statement.end_lineno])
    return any(_FOR_NOW.search(one) for one in told)
