"""The statements that only an evaluation runs: those of its functions, and those behind `if not self.training`."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Origin, Site, Stack

_LEAVES = (ast.Return, ast.Raise, ast.Continue)
_OF_KIND = ("isinstance", "hasattr", "issubclass")
_MODE = "training"
Function = tuple[str, ast.AST]  # a file and a function of it
Line = tuple[str, ast.stmt]


def functions_of(case: Case, stacks: Iterable[Stack]) -> dict[Function, None]:
    """The program's functions on these stacks."""
    sites = {site: None for stack in stacks for site in stack if site.origin is Origin.USER}
    nodes = ((site.file, syntax(case).parsed(site.file).functions.get(site.line)) for site in sites)
    return {(file, node): None for file, node in nodes if node is not None}


def evaluation_lines(case: Case, own: Iterable[Function], shared: Iterable[Function]) -> list[Line]:
    """The statements that run whenever evaluation comes to its `own` functions, or in its mode to the `shared` ones.

    Those of a helper are among them where nothing else of the program names it.
    """
    found = [(file, one) for file, node in own for one in _always(_body(node))]
    found += [(file, one) for file, node in shared for one in _behind_mode(_body(node))]
    named = [name for _, statement in found for name in _names(statement)]
    helpers = _helpers(case, set(named))
    everywhere = [name for file in syntax(case).files for name in _names_in(syntax(case).nodes(file))]
    for name, (file, node) in helpers.items():
        if everywhere.count(name) == named.count(name):
            found += [(file, one) for one in _always(_body(node))]
    return found


def _helpers(case: Case, names: set[str]) -> dict[str, Function]:
    """The functions of these names that there are once."""
    found: dict[str, list[Function]] = {}
    for file in syntax(case).files:
        for node in syntax(case).nodes(file):
            if isinstance(node, ast.FunctionDef) and node.name in names:
                found.setdefault(node.name, []).append((file, node))
    return {name: ones[0] for name, ones in found.items() if len(ones) == 1}


def _names(statement: ast.stmt) -> list[str]:
    return _names_in(ast.walk(statement))


def _names_in(nodes: Iterable[ast.AST]) -> list[str]:
    """The functions that are called, or handed over as an argument, by name."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return [name for call in calls for name in (called_name(call), *map(last_name, call.args)) if name]


def _body(function: ast.AST) -> list[ast.stmt]:
    return function.body if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) else []


def _always(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The plain statements that run each time, for something at least: no branch but one that asks for a kind."""
    for one in statements:
        if isinstance(one, ast.If):
            if _asks_for_kind(one.test):
                yield from _always([*one.body, *one.orelse])
        elif isinstance(one, ast.For | ast.While | ast.With | ast.Try):
            yield from _always(one.body)
        elif not isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one


def _behind_mode(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The plain statements that run in evaluation mode only."""
    for at, one in enumerate(statements):
        if isinstance(one, ast.If):
            evaluates = _says_evaluation(one.test)
            yield from _always(one.body) if evaluates else _behind_mode(one.body)
            if _says_training(one.test):
                leaves = isinstance(one.body[-1], _LEAVES)
                yield from _always(one.orelse + (statements[at + 1 :] if leaves else []))
        elif isinstance(one, ast.For | ast.While | ast.With | ast.Try):
            yield from _behind_mode(one.body)


def _asks_for_kind(test: ast.expr) -> bool:
    return isinstance(test, ast.Call) and called_name(test) in _OF_KIND


def _says_training(test: ast.expr) -> bool:
    return isinstance(test, ast.Attribute) and test.attr == _MODE


def _says_evaluation(test: ast.expr) -> bool:
    """`not self.training`, also as one of several conditions."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return any(map(_says_evaluation, test.values))
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and _says_training(test.operand)


def attributes_behind(case: Case, site: Site, questions: Iterable[ast.expr]) -> set[str]:
    """The attributes that a line, or what is asked before it, reads; by way of the function's plain names, too."""
    statement, function = syntax(case).statement(site), syntax(case).function(site)
    looked: list[ast.AST] = [*questions, *([statement] if statement is not None else [])]
    names = {one.id for node in looked for one in ast.walk(node) if isinstance(one, ast.Name)}
    given = (one for one in ast.walk(function) if isinstance(one, ast.Assign)) if function is not None else ()
    looked += [one.value for one in given if not names.isdisjoint(map(last_name, one.targets))]
    return {one.attr for node in looked for one in ast.walk(node) if isinstance(one, ast.Attribute)}
