"""The line that makes what can be gone through only once: filter(), a generator, parameters().

The surprise: the line that gets nothing of it is another function's, and knows it by an attribute or a parameter.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.explain.deductions.lines.settings import argument
from gradscope.explain.deductions.memory.spent_iterators import is_iterator
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import called_name, last_name
from gradscope.model.site import Site

ONE_SHOTS = ("zip", "map", "filter", "chain", "from_iterable", "iter", "islice", "parameters")
_OF_MODULES = ("parameters", "named_parameters")
_FAR = 5  # names that a value may go by on its way
_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def cleared_in_vain(case: Case) -> tuple[Site, Site] | None:
    """The line of an iterator over parameters that a loop goes through to clear their gradients, and that loop."""
    for file in syntax(case).files:
        for loop in syntax(case).nodes(file):
            if isinstance(loop, ast.For) and isinstance(loop.iter, (ast.Name, ast.Attribute)) and _clears(loop):
                site = one_shot(case, file, loop.iter)
                if site is not None and not _is_made_with(case, site, file, loop):
                    return site, syntax(case).site(file, loop.lineno)
    return None


def _clears(loop: ast.For) -> bool:
    """`one.grad = None`, `one.grad.zero_()`."""
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        if isinstance(node, ast.Assign) and any(last_name(one) == "grad" for one in node.targets):
            return isinstance(node.value, ast.Constant) and node.value.value is None
        called = node.func if isinstance(node, ast.Call) else None
        if isinstance(called, ast.Attribute) and called.attr == "zero_" and last_name(called.value) == "grad":
            return True
    return False


def _is_made_with(case: Case, site: Site, file: str, loop: ast.For) -> bool:
    """Whether the function of a loop makes the iterator itself, each time anew."""
    around = syntax(case).function(Site(file, loop.lineno))
    return isinstance(around, ast.FunctionDef) and around is syntax(case).function(site)


def one_shot(case: Case, file: str, value: ast.expr, far: int = _FAR) -> Site | None:
    """The only line that gives an attribute or a name its value, where that goes through parameters only once."""
    if gives_once(case, value) and _is_of_parameters(case, value):
        return syntax(case).site(file, value.lineno)
    given = list(_given(case, file, value)) if far and isinstance(value, (ast.Name, ast.Attribute)) else []
    return one_shot(case, *given[0], far - 1) if len(given) == 1 else None


def gives_once(case: Case, value: ast.expr) -> bool:
    """Whether an expression makes an iterator: by torch, by Python, or by a generator of the program's own."""
    if is_iterator(case, value, ONE_SHOTS):
        return True
    name = called_name(value) if isinstance(value, ast.Call) else ""
    own = _functions(case, name)
    return len(own) == 1 and not own[0].decorator_list and any(isinstance(one, ast.Yield) for one in ast.walk(own[0]))


def _functions(case: Case, name: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = (node for file in syntax(case).files for node in syntax(case).nodes(file))
    return [node for node in nodes if isinstance(node, _Function) and node.name == name]


def _is_of_parameters(case: Case, value: ast.expr) -> bool:
    """Whether an expression, or the generator that it calls, asks modules for their parameters."""
    own = _functions(case, called_name(value)) if isinstance(value, ast.Call) else []
    names = {last_name(node.func) for one in (value, *own) for node in ast.walk(one) if isinstance(node, ast.Call)}
    return bool(names & set(_OF_MODULES))


def _given(case: Case, file: str, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """What an attribute or a name is given anywhere in its file, or as an argument by any call."""
    around = syntax(case).function(Site(file, value.lineno))
    name = last_name(value)
    if isinstance(value, ast.Name) and isinstance(around, ast.FunctionDef):
        names = [one.arg for one in (*around.args.args, *around.args.kwonlyargs)]
        if name in names and not any(_gives(node, value) for node in ast.walk(around)):
            yield from _handed(case, file, around, name)
            return
    scope = [] if around is None or isinstance(value, ast.Attribute) else list(ast.walk(around))
    own = [node for node in scope if _gives(node, value)]
    for node in own or syntax(case).nodes(file):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and _gives(node, value) and node.value is not None:
            yield file, node.value


def _gives(node: ast.AST, value: ast.expr) -> bool:
    """Whether a statement gives an attribute of this name, or a plain name, its value."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return any(isinstance(one, type(value)) and last_name(one) == last_name(value) for one in targets)


def _handed(case: Case, file: str, function: ast.FunctionDef, name: str) -> Iterator[tuple[str, ast.expr]]:
    """What the calls of a function, or of the class that it initialises, give one of its parameters."""
    names = [one.arg for one in function.args.args]
    if name == "self":
        return  # which no call gives
    position = names.index(name) - (names[:1] == ["self"]) if name in names else None
    owners = [one for one in syntax(case).nodes(file) if isinstance(one, ast.ClassDef) and function in one.body]
    called = owners[0].name if owners and function.name == "__init__" else function.name
    for one in syntax(case).files:
        for call in syntax(case).nodes(one):
            if isinstance(call, ast.Call) and called_name(call) == called:
                given = argument(call, name, position)
                if given is not None:
                    yield one, given
