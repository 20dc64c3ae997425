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

from gradscope.explain.deductions.lines.settings import argument
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.syntax import syntax
from gradscope.functions.source import last_name
from gradscope.model.site import Site, user_site

_ONCE = ("zip", "map", "filter", "chain", "iter", "enumerate")
_TOOLS = "itertools."
_OF_MODULES = ("parameters", "named_parameters", "buffers", "named_buffers")
_CONSUME = ("list", "tuple", "sum", "min", "max", "any", "all", "sorted", "zip", "map", "filter", "enumerate", "stack")
_COMPOUND = (ast.For, ast.While, ast.If, ast.With, ast.Try, ast.FunctionDef, ast.ClassDef)
_CALL = "__call__"
_COMPUTING = ("abs", "pow", "square", "norm", "sum", "mean", "max", "min", "exp", "log", "sqrt", "relu", "flatten")
_PERHAPS = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.GeneratorExp, ast.ListComp)  # what is in there may not be called
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
        ways = list(_ways(case, file))
        for name, way in ways:
            made = _made(case, file, name)
            others = [one for said, one in ways if said == name and one is not way]
            times = 0 if made is None else _stretches(case, file, way)
            spent = times == 1 or (not times and bool(others) and _computes(way))
            if made is not None and spent and _is_called_again(case, file, way):
                by = "the first call" if times else f"line {others[0].lineno}"
                yield Spent(name, by, made, syntax(case).site(file, way.lineno))


def _ways(case: Case, file: str) -> Iterator[tuple[str, ast.stmt]]:
    """The statements of a file that go through an attribute, each with how this is called there."""
    for node in syntax(case).nodes(file):
        if isinstance(node, ast.For) and isinstance(node.iter, ast.Attribute):
            yield ast.unparse(node.iter), node
        elif isinstance(node, ast.stmt) and not isinstance(node, _COMPOUND):
            yield from ((ast.unparse(one), node) for one in _gone_through(node) if isinstance(one, ast.Attribute))


def _computes(way: ast.stmt) -> bool:
    """Whether a method is called of each thing, as `one.abs()`: what has run leaves operators."""
    inside = [one for one in ast.walk(way) if isinstance(one, (ast.GeneratorExp, ast.ListComp))]
    calls = (one for made in inside for one in ast.walk(made.elt) if isinstance(one, ast.Call))
    return any(isinstance(one.func, ast.Attribute) and one.func.attr in _COMPUTING for one in calls)


def _handed(case: Case) -> Iterator[Spent]:
    """Iterators that are handed to a function, by a call that ran, and which goes through its parameter twice."""
    for file, function in syntax(case).functions:
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
    return any(_is_named(one, name) for one in _gone_through(statement))


def _gone_through(statement: ast.stmt) -> Iterator[ast.expr]:
    for node in ast.walk(statement):
        if isinstance(node, ast.comprehension):
            yield node.iter
        elif isinstance(node, ast.Call) and last_name(node.func) in _CONSUME:
            yield from node.args


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


def _stretches(case: Case, file: str, way: ast.stmt) -> int:
    """Between how many pairs of backward calls the operators of a statement ran, or of a loop's body."""
    first = way.body[0].lineno if isinstance(way, ast.For) else way.lineno
    lines = range(first, (way.end_lineno or way.lineno) + 1)
    return len(
        {
            block.number
            for block in case.blocks()
            for operation in block.operations
            if (site := user_site(operation.stack)) is not None and site.file == file and site.line in lines
        }
    )


def _is_called_again(case: Case, file: str, way: ast.stmt) -> bool:
    """Whether the function around a statement is called beside a backward that ran several times, whatever happens."""
    around = syntax(case).function(Site(file, way.lineno))
    if not isinstance(around, ast.FunctionDef) or way not in around.body:
        return False
    names = {around.name} if around.name != _CALL else _objects(case, file, way)
    ran = Counter((call.site.file, call.site.line) for call in case.backwards() if call.site is not None)
    often = {place for place, count in ran.items() if count >= _CALLS}
    return any(_stands_beside(case, one, names, often) for one in syntax(case).files)


def _objects(case: Case, file: str, way: ast.stmt) -> set[str]:
    """The names that a program gives to objects of the class around a statement: variables, attributes, parameters."""
    classes = [node for node in syntax(case).nodes(file) if isinstance(node, ast.ClassDef)]
    name = next((one.name for one in classes if one.lineno <= way.lineno <= (one.end_lineno or 0)), "")
    found: set[str] = set()
    for node in (node for one in syntax(case).files for node in syntax(case).nodes(one)):
        if isinstance(node, ast.Assign) and _makes(node.value, name):
            found.update(map(last_name, node.targets))
    for node in (node for one in syntax(case).files for node in syntax(case).nodes(one)):
        if isinstance(node, ast.Call):
            given = [_makes(one, name) or last_name(one) in found for one in node.args]
            found.update(_parameters(case, last_name(node.func), given) if any(given) else ())
    return found


def _makes(value: ast.expr, name: str) -> bool:
    return isinstance(value, ast.Call) and last_name(value.func) == name


def _parameters(case: Case, function: str, given: list[bool]) -> Iterator[str]:
    """The parameters at such places of the program's functions of a name."""
    for node in (node for one in syntax(case).files for node in syntax(case).nodes(one)):
        if isinstance(node, ast.FunctionDef) and node.name == function:
            names = [one.arg for one in node.args.args if one.arg != "self"]
            yield from (one for one, is_given in zip(names, given, strict=False) if is_given)


def _stands_beside(case: Case, file: str, names: set[str], often: set[tuple[str, int]]) -> bool:
    """Whether a file has a call of one of these names and one of these lines in the same list of statements."""
    fields = (
        getattr(node, field, None) for node in syntax(case).nodes(file) for field in ("body", "orelse", "finalbody")
    )
    blocks = [block for block in fields if isinstance(block, list)]
    trained = (block for block in blocks if any((file, one.lineno) in often for one in block))
    return any(_calls(one, names) for block in trained for one in block)


def _calls(statement: ast.stmt, names: set[str]) -> bool:
    """Whether a statement calls one of these, whichever way it goes."""
    nodes = [] if isinstance(statement, _COMPOUND) else list(ast.walk(statement))
    if any(isinstance(one, _PERHAPS) for one in nodes):
        return False
    return any(isinstance(one, ast.Call) and last_name(one.func) in names for one in nodes)


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
