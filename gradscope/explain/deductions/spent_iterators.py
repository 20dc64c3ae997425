"""An attribute that holds an iterator, and a loop of a method that goes through it whenever the method is called.

That the loop ran once only is seen by its operators; that the method was called again, by a backward beside its call.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.site import Site, user_site

_ONCE = ("zip", "map", "filter", "chain", "iter", "enumerate")
_OF_MODULES = ("parameters", "named_parameters", "buffers", "named_buffers")
_CALLS = 4  # of the method, at least


@dataclass(frozen=True, slots=True)
class Spent:
    """An iterator that is spent: how it is called, the line that gives it, and that of the loop that gets nothing."""

    name: str
    made: Site
    loop: Site


def spent_iterators(case: Case) -> Iterator[Spent]:
    """Each of the program's."""
    for file in syntax(case).files:
        loops = [node for node in syntax(case).nodes(file) if isinstance(node, ast.For)]
        for loop in loops:
            name = ast.unparse(loop.iter) if isinstance(loop.iter, ast.Attribute) else ""
            made = _made(case, file, name) if name else None
            if made is not None and _ran_once(case, file, loop) and _is_called_again(case, file, loop):
                yield Spent(name, made, syntax(case).site(file, loop.lineno))


def is_iterator(case: Case, value: ast.expr | None, calls: tuple[str, ...]) -> bool:
    """Whether an expression gives each of its items once; not by a function of that name that is the program's own."""
    if isinstance(value, ast.GeneratorExp):
        return True
    name = last_name(value.func) if isinstance(value, ast.Call) else ""
    own = syntax(case).everywhere(lambda node: isinstance(node, ast.FunctionDef) and node.name == name)
    return name in calls and next(own, None) is None


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
