"""Follows a value back through Python and numpy to the expression that took it out of torch.

Nothing of that way is recorded: it is read in the source, through names, lists, and the program's own functions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from gradscope.explain.deductions.lines.settings import argument
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.store.asked import kept

_RETURNS = ("tensor", "as_tensor", "asarray", "from_numpy", "FloatTensor", "DoubleTensor", "Tensor")
_OF_TORCH = ("torch", "th")
_TAKES = ("item", "numpy", "detach", "float")
# What is asked of a value here is no part of it: how many there are, which is the largest, whether one is larger.
_ASKS = ("len", "shape", "size", "dim", "ndim", "dtype", "device", "argmax", "argmin", "argsort", "range", "isinstance")
_PUTS = ("append", "extend", "insert", "add", "appendleft")
_SELF, _UNNAMED = ("self", "cls"), ("__call__", "forward")
_MOST, _DEEP = 400, 4


@dataclass(frozen=True, slots=True)
class TakenOut:
    """An expression that may take a value out of torch, with its lines.

    `seen`: an operator on these lines tells of it. None tells of tolist(): they are those where its tensor is made.
    """

    site: Site
    lines: range
    file: str
    seen: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """A function (or module) that runs, with the call that it came from."""

    file: str
    function: ast.AST
    call: ast.Call | None = None
    caller: _Scope | None = None
    line: int = 0  # of the call, in the caller
    depth: int = 0


@dataclass(frozen=True, slots=True)
class _Value:
    """An expression on a line of a scope. `back`: what is behind it comes back to torch on the way. `listed`: the line
    that makes a list of it."""

    node: ast.AST
    scope: _Scope
    line: int
    back: bool
    listed: Site | None = None


def ways_outside(case: Case, stack: Stack, is_made: bool) -> frozenset[TakenOut]:
    """What may have taken a value out of torch that came back to it, behind a stack.

    `is_made`: the stack made the tensor. Else it read a tensor first that nothing of torch has made.
    """
    known = _known(case)
    key = (id(stack), is_made)
    if key not in known:
        known[key] = stack, frozenset(_followed(case, stack, is_made))
    return known[key][1]


@kept
def _known(case: Case) -> dict[tuple[int, bool], tuple[Stack, frozenset[TakenOut]]]:
    """The answers so far; with each its stack, so that no other one gets its number."""
    return {}


def _followed(case: Case, stack: Stack, is_made: bool) -> Iterator[TakenOut]:
    waiting, seen = list(_start(case, stack, is_made)), set[tuple[int, int, bool, Site | None]]()
    while waiting and len(seen) < _MOST:
        case.pace()
        value = waiting.pop()
        key = (id(value.node), id(value.scope.function), value.back, value.listed)
        if key not in seen:
            seen.add(key)
            yield from _taken_out(case, value)
            waiting += _behind(case, value)


def _start(case: Case, stack: Stack, is_made: bool) -> Iterator[_Value]:
    frames = user_frames(stack)
    scope = _scope_of(case, frames)
    statement = syntax(case).parsed(frames[0].file).whole_statements.get(frames[0].line) if frames else None
    if scope is None or statement is None:
        return
    calls = [one for one in ast.walk(statement) if _comes_back(one)]
    if is_made and len(calls) == 1:
        yield _Value(calls[0], scope, statement.lineno, False)
    elif not is_made:
        value = getattr(statement, "value", None)
        yield from () if value is None else (_Value(value, scope, statement.lineno, False),)


def _scope_of(case: Case, frames: tuple[Site, ...]) -> _Scope | None:
    """The function of the innermost frame, with those that called it."""
    found: _Scope | None = None
    for outer, inner in pairwise((None, *reversed(frames))):
        function = None if inner is None else syntax(case).function(inner)
        if inner is None or function is None:
            return None
        if found is None or outer is None or found.function is not function:
            call = None if outer is None else _call_of(case, outer, getattr(function, "name", ""))
            found = _Scope(inner.file, function, call, found, 0 if outer is None else outer.line)
    return found


def _call_of(case: Case, site: Site, name: str) -> ast.Call | None:
    """The call on a line that went into a function."""
    statement = syntax(case).parsed(site.file).whole_statements.get(site.line)
    calls = [one for one in ast.walk(statement) if isinstance(one, ast.Call)] if statement is not None else []
    named = [one for one in calls if called_name(one) == name]
    return next(iter(named or (calls if name in _UNNAMED and len(calls) == 1 else ())), None)


def _comes_back(node: ast.AST) -> bool:
    """Whether an expression makes a tensor of what numpy or Python has."""
    if not isinstance(node, ast.Call) or called_name(node) not in _RETURNS:
        return False
    return isinstance(node.func, ast.Name) or last_name(getattr(node.func, "value", node)) in _OF_TORCH


def _taken_out(case: Case, value: _Value) -> Iterator[TakenOut]:
    node, file = value.node, value.scope.file
    if not value.back or not isinstance(node, ast.expr):
        return
    lines = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    if value.listed is not None and not isinstance(node, ast.Name):
        yield TakenOut(value.listed, lines, file, seen=False)
    is_call = isinstance(node, ast.Call) and called_name(node) in _TAKES
    if is_call or (isinstance(node, ast.Attribute) and node.attr == "data"):
        yield TakenOut(syntax(case).site(file, node.lineno), lines, file)


def _behind(case: Case, value: _Value) -> Iterator[_Value]:
    """What an expression's value is computed from."""
    node, scope = value.node, value.scope

    def on(*nodes: ast.AST | None, back: bool = value.back) -> Iterator[_Value]:
        return (_Value(one, scope, value.line, back) for one in nodes if one is not None)

    match node:
        case ast.Name():
            yield from _named(value, node.id)
        case ast.Call() if _comes_back(node):
            yield from on(*node.args[:1], *(one.value for one in node.keywords if one.arg == "data"), back=True)
        case ast.Call() if called_name(node) in _ASKS:
            return
        case ast.Call(func=ast.Attribute(value=listed, attr="tolist")) if value.back:
            yield _Value(listed, scope, value.line, True, syntax(case).site(scope.file, node.lineno))
        case ast.Call():
            yield from on(node.func.value if isinstance(node.func, ast.Attribute) else None)
            yield from on(*(node.args if value.back else ()))
            yield from on(*(one.value for one in node.keywords if value.back))
            yield from _returned(case, value, node)
        case ast.Attribute():
            yield from on(node.value if node.attr not in _ASKS else None)
        case ast.BinOp() if not value.back:
            yield from on(*_summed(node))
        case ast.IfExp():
            yield from on(node.body, node.orelse)
        case ast.Subscript() | ast.Starred() | ast.NamedExpr():
            yield from on(node.value)
        case ast.ListComp() | ast.GeneratorExp() | ast.SetComp():
            yield from on(node.elt)
        case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.List() | ast.Tuple() | ast.Set():
            yield from on(*(one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)))


def _summed(node: ast.BinOp) -> tuple[ast.expr, ...]:
    """The terms of a sum; of a product what is multiplied by a number: two factors may weigh one another."""
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return node.left, node.right
    both = (node.left, node.right) if isinstance(node.op, (ast.Mult, ast.Div)) else ()
    numbers = [one for one in both if isinstance(one, ast.Constant | ast.Attribute) or last_name(one).isupper()]
    return tuple(one for one in both if one not in numbers) if numbers else ()


def _returned(case: Case, value: _Value, call: ast.Call) -> Iterator[_Value]:
    """What the only function of the program by a called name returns."""
    found = [one for one in syntax(case).functions if one[1].name == called_name(call)]
    if len(found) == 1 and value.scope.depth < _DEEP:
        file, function = found[0]
        scope = _Scope(file, function, call, value.scope, value.line, value.scope.depth + 1)
        for one in _nodes_of(function):
            if isinstance(one, ast.Return) and one.value is not None:
                yield _Value(one.value, scope, one.lineno, value.back)


def _named(value: _Value, name: str) -> Iterator[_Value]:
    """What a name was given before a line, in its function; of an argument what the call gave."""
    scope = value.scope
    for one in _nodes_of(scope.function):
        for given, line in _given(one, name):
            if line <= value.line:
                yield replace(value, node=given, line=line)
    function, call = scope.function, scope.call
    if isinstance(function, ast.FunctionDef) and call is not None and scope.caller is not None:
        plain = [one.arg for one in (*function.args.posonlyargs, *function.args.args)]
        plain = plain[1:] if plain[:1] and plain[0] in _SELF else plain
        keyed = [*plain, *(one.arg for one in function.args.kwonlyargs)]
        handed = argument(call, name, plain.index(name) if name in plain else None) if name in keyed else None
        if handed is not None:
            yield replace(value, node=handed, scope=scope.caller, line=scope.line)


def _given(node: ast.AST, name: str) -> Iterator[tuple[ast.expr, int]]:
    """What a node gives to a name, or puts into what the name holds."""
    match node:
        case ast.Assign():
            for target in node.targets:
                yield from ((one, node.lineno) for one in _parts(target, node.value, name))
        case ast.AnnAssign() | ast.AugAssign() | ast.NamedExpr() if node.value is not None:
            yield from ((one, node.lineno) for one in _parts(node.target, node.value, name))
        case ast.For() | ast.comprehension():
            yield from ((one, node.iter.lineno) for one in _parts(node.target, node.iter, name))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=holder))) if holder == name and called_name(node) in _PUTS:
            yield from ((one, node.lineno) for one in node.args)


def _parts(target: ast.expr, value: ast.expr, name: str) -> Iterator[ast.expr]:
    """What of a value a target gives to a name."""
    match target, value:
        case ast.Tuple(), ast.Tuple() if len(target.elts) == len(value.elts):
            for one, given in zip(target.elts, value.elts, strict=True):
                yield from _parts(one, given, name)
        case ((ast.Tuple() | ast.List()), _):
            if any(True for one in target.elts for _ in _parts(one, value, name)):
                yield value
        case ((ast.Subscript() | ast.Starred()), _):
            yield from _parts(target.value, value, name)
        case ast.Name(), _ if target.id == name:
            yield value


def _nodes_of(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes in it."""
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node
            waiting += ast.iter_child_nodes(node)
