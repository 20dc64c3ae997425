"""An attribute that holds an iterator, and a loop of a method that goes through it whenever the method is called; and
an iterator that is handed to a function which goes through it twice.

That a loop ran once only is seen by its operators; that its method was called again, by a backward beside its call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from gradscope.explain.deductions.settings import argument
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.site import Site, user_site

_ONCE = ("zip", "map", "filter", "chain", "iter", "enumerate")
_TOOLS = "itertools."
_OF_MODULES = ("parameters", "named_parameters", "buffers", "named_buffers")
_CONSUME = ("list", "tuple", "sum", "min", "max", "any", "all", "sorted", "zip", "map", "filter", "enumerate", "stack")
_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)
_CALLS = 4  # of the method, at least


@dataclass(frozen=True, slots=True)
class Spent:
    """An iterator that is spent: how it is called, by what, the line that gives it, and the one that gets nothing."""

    name: str
    by: str
    made: Site
    loop: Site


def spent_iterators(case: Case) -> Iterator[Spent]:
    """Each of the program's."""
    yield from _handed(case)
    for file in syntax(case).files:
        loops = [node for node in syntax(case).nodes(file) if isinstance(node, ast.For)]
        for loop in loops:
            name = ast.unparse(loop.iter) if isinstance(loop.iter, ast.Attribute) else ""
            made = _made(case, file, name) if name else None
            if made is not None and _ran_once(case, file, loop) and _is_called_again(case, file, loop):
                yield Spent(name, "the first call", made, syntax(case).site(file, loop.lineno))


def _handed(case: Case) -> Iterator[Spent]:
    """Iterators that are handed to a function, by a call that ran, and which goes through its parameter twice."""
    for file in syntax(case).files:
        for function in (node for node in syntax(case).nodes(file) if isinstance(node, ast.FunctionDef)):
            for name in (one.arg for one in function.args.args):
                twice = _gone_through_twice(function, name)
                given = _givers(case, function, name) if twice is not None else iter(())
                ran = next((one for one in given if _led_into(case, one[1], file, function)), None)
                if twice is not None and ran is not None:
                    yield Spent(ast.unparse(ran[0]), f"line {twice[0]}", ran[1], syntax(case).site(file, twice[1]))


def _gone_through_twice(function: ast.FunctionDef, name: str) -> tuple[int, int] | None:
    """The lines by which a function goes through a parameter, and after that once more; None where it is rebound."""
    places = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    if any(not isinstance(one.ctx, ast.Load) for one in places):
        return None
    inside = [node for node in ast.walk(function) if isinstance(node, ast.stmt) and node is not function]
    through = [one for one in inside if not isinstance(one, _COMPOUND) and _goes_through(one, name)]
    through += [one for one in inside if isinstance(one, ast.For) and _is_named(one.iter, name)]
    for first in (one for one in function.body if one in through):  # a branch may return
        later = {id(node) for statement in after(function, first) for node in ast.walk(statement)}
        again = next((one for one in through if id(one) in later), None)
        if again is not None:
            return first.lineno, again.lineno
    return None


def _goes_through(statement: ast.stmt, name: str) -> bool:
    """`[one for one in name]`, or `sum(name)`."""
    nodes = list(ast.walk(statement))
    calls = [one for one in nodes if isinstance(one, ast.Call) and last_name(one.func) in _CONSUME]
    gone = [one.iter for one in nodes if isinstance(one, ast.comprehension)]
    return any(_is_named(one, name) for one in (*gone, *(given for call in calls for given in call.args)))


def _is_named(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Name) and value.id == name


def _givers(case: Case, function: ast.FunctionDef, name: str) -> Iterator[tuple[ast.expr, Site]]:
    """Iterators that calls of a function give its parameter, and the lines of these."""
    names = [one.arg for one in function.args.args]
    position = names.index(name) - (names[0] == "self")
    for file in syntax(case).files:
        for call in (node for node in syntax(case).nodes(file) if isinstance(node, ast.Call)):
            value = argument(call, name, position) if last_name(call.func) == function.name else None
            if is_iterator(case, value, (*_ONCE, *_OF_MODULES)) and value is not None:
                yield value, syntax(case).site(file, call.lineno)


def _led_into(case: Case, call: Site, file: str, function: ast.FunctionDef) -> bool:
    """Whether an operator ran in a function which a line had called: others may have functions of that name."""
    lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
    stacks = {id(one.stack): one.stack for block in case.blocks() for one in block.operations}
    return any(
        (inner.file, outer.file, outer.line) == (file, call.file, call.line) and inner.line in lines
        for stack in stacks.values()
        for inner, outer in pairwise(stack)
    )


def is_iterator(case: Case, value: ast.expr | None, calls: tuple[str, ...]) -> bool:
    """Whether an expression gives each of its items once; not by a function of that name that is the program's own."""
    if isinstance(value, ast.GeneratorExp):
        return True
    called = value.func if isinstance(value, ast.Call) else None
    name = "" if called is None else last_name(called)
    own = syntax(case).everywhere(lambda node: isinstance(node, ast.FunctionDef) and node.name == name)
    if name in _OF_MODULES:
        return name in calls and next(own, None) is None
    is_built_in = called is not None and (isinstance(called, ast.Name) or ast.unparse(called).startswith(_TOOLS))
    return is_built_in and name in calls and next(own, None) is None


def _made(case: Case, file: str, name: str) -> Site | None:
    """The only line of a file that gives an attribute its value, where that is an iterator."""
    given = [
        node
        for node in syntax(case).nodes(file)
        if isinstance(node, ast.Assign) and name in [ast.unparse(target) for target in node.targets]
    ]
    if len(given) != 1 or not is_iterator(case, given[0].value, (*_ONCE, *_OF_MODULES)):
        return None
    return syntax(case).site(file, given[0].lineno)


def _ran_once(case: Case, file: str, loop: ast.For) -> bool:
    """Whether the operators of a loop's body ran between two backward calls, and in no other such stretch."""
    lines = range(loop.body[0].lineno, (loop.end_lineno or loop.lineno) + 1)
    stretches = {
        block.number
        for block in case.blocks()
        for operation in block.operations
        if (site := user_site(operation.stack)) is not None and site.file == file and site.line in lines
    }
    return len(stretches) == 1


def _is_called_again(case: Case, file: str, loop: ast.For) -> bool:
    """Whether the function around a loop is called beside a backward that ran several times, whatever else happens."""
    around = syntax(case).function(Site(file, loop.lineno))
    if not isinstance(around, ast.FunctionDef) or loop not in around.body:
        return False
    ran = Counter((call.site.file, call.site.line) for call in case.backwards() if call.site is not None)
    often = {place for place, count in ran.items() if count >= _CALLS}
    return any(_stands_beside(case, one, around.name, often) for one in syntax(case).files)


def _stands_beside(case: Case, file: str, name: str, often: set[tuple[str, int]]) -> bool:
    """Whether a file has a call of a function and one of these lines in the same list of statements."""
    fields = (
        getattr(node, field, None) for node in syntax(case).nodes(file) for field in ("body", "orelse", "finalbody")
    )
    blocks = [block for block in fields if isinstance(block, list)]
    trained = (block for block in blocks if any((file, one.lineno) in often for one in block))
    return any(_calls(one, name) for block in trained for one in block)


def _calls(statement: ast.stmt, name: str) -> bool:
    """Whether a statement is a call of a function, or takes its result."""
    value = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    return isinstance(value, ast.Call) and last_name(value.func) == name


def after(around: ast.AST, statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements of a function that run after one of it: not those of the other branch of an `if`."""
    for block in _blocks(around):
        for place, one in enumerate(block):
            if one is statement:
                yield from block[place + 1 :]
                return
            if any(inner is statement for inner in ast.walk(one)):
                yield from after(one, statement)
                yield from block[place + 1 :]
                return


def _blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of statements that a statement consists of."""
    for field in ("body", "orelse", "finalbody", "handlers", "cases"):
        block = getattr(node, field, None)
        if isinstance(block, list) and block:
            if isinstance(block[0], ast.stmt):
                yield block
            else:
                for part in block:
                    yield part.body
