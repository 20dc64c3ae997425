"""Which line makes an alias that no operator was heard for: its text stands between two operators that were.

The one before left the value, the one after reads the alias. What ran between them is, in the function from which both
were called, what stands between the two calls; further in, the rest of the functions that led to the first, the
beginning of those that led to the second, and the short helpers that are called there. A call that is given what
another call returns, as `keep(encoder(x))`, runs after that, on the same line.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import takewhile

from gradscope.explain.evidence.syntax import Syntax
from gradscope.functions.source import called_name, last_name, names_in
from gradscope.model.site import Site, Stack, user_frames

_NO_OPERATOR = (ast.Name, ast.Attribute, ast.Subscript)  # what an alias is made of; others run where they stand
_COMPUTED = (ast.Call, ast.BinOp, ast.UnaryOp)


@dataclass(frozen=True, slots=True)
class _Place:
    """A line that makes an alias: of what, whether by Parameter, and under which of the program's frames.

    `given` where it is an alias of an argument which its function was given as it was computed.
    """

    stack: Stack
    of: str
    parameter: bool
    given: bool = False


def made_between(before: Stack, after: Stack, syntax: Syntax) -> Stack | None:
    """The program's frames of the line between two operators that makes an alias.

    It is the one of a name that is bound where the first ran, or of an argument that it was given to, else the only
    Parameter. None where that is not clear.
    """
    found = [*_places(before, after, syntax), *_around(before, after, syntax)]
    bound = _bound(before, syntax)
    named = [one for one in found if one.of in bound or one.given]
    parameters = [one for one in found if one.parameter]
    if named:
        return named[0].stack
    return parameters[0].stack if len(parameters) == 1 else None


def _places(before: Stack, after: Stack, syntax: Syntax) -> Iterator[_Place]:
    for stack in _between(user_frames(before)[::-1], user_frames(after)[::-1], syntax):
        yield from _at(stack, syntax)
        for helper in _helpers(stack[0], syntax):
            for line in _lines(helper, syntax):
                yield from _at((line, *stack), syntax)


def _around(before: Stack, after: Stack, syntax: Syntax) -> Iterator[_Place]:
    """The aliases made by calls that are given what was just computed: by the first operator, or on its way out."""
    first, last = user_frames(before)[::-1], user_frames(after)[::-1]
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    for at in range(len(first) - 1, max(shared - 1, 0) - 1, -1):
        stack = tuple(reversed(first[: at + 1]))
        for call in _given_calls(first[at], syntax):
            if _is_parameter(call):
                yield _Place(stack, "", parameter=True)
            for helper in _defined_once(call, syntax):
                if not any(one.is_in_function_of(helper) for one in last[at + 1 :]):
                    yield from _of_arguments(helper, stack, syntax)


def _given_calls(site: Site, syntax: Syntax) -> Iterator[ast.Call]:
    """The calls in the statement of a line that are given what is computed there."""
    statement = syntax.parsed(site.file).statements.get(site.line)
    for node in ast.walk(statement) if statement is not None else ():
        if isinstance(node, ast.Call):
            given = [*node.args, *(one.value for one in node.keywords)]
            if any(isinstance(one, _COMPUTED) for each in given for one in ast.walk(each)):
                yield node


def _of_arguments(helper: Site, stack: Stack, syntax: Syntax) -> Iterator[_Place]:
    """The aliases that a function makes, and which of them are of its arguments."""
    function = syntax.function(helper)
    arguments = {one.arg for one in ast.walk(function) if isinstance(one, ast.arg)} if function is not None else set()
    for line in _lines(helper, syntax):
        for place in _at((line, *stack), syntax):
            yield replace(place, given=place.of in arguments)


def _between(first: Stack, last: Stack, syntax: Syntax) -> Iterator[Stack]:
    """The lines that ran between two, which are given with the outermost frame first, each with the frames around."""
    alike = next((at for at, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), None)
    if alike is None:
        return
    is_shared = first[alike].is_in_function_of(last[alike])
    inner = alike + is_shared
    for at in range(len(first) - 1, inner - 1, -1):
        yield from _under(first[:at], (one for one in _lines(first[at], syntax) if one.line > first[at].line))
    if is_shared:
        own = _lines(last[alike], syntax)
        yield from _under(last[:alike], (one for one in own if first[alike].line < one.line < last[alike].line))
    for at in range(inner, len(last)):
        yield from _under(last[:at], (one for one in _lines(last[at], syntax) if one.line < last[at].line))


def _under(outer: Stack, lines: Iterator[Site]) -> Iterator[Stack]:
    return ((line, *reversed(outer)) for line in lines)


def _lines(site: Site, syntax: Syntax) -> Iterator[Site]:
    """The lines of the function around one, without those of functions in it; none of a whole module."""
    function = syntax.function(site)
    if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
        for number in range(function.lineno + 1, (function.end_lineno or function.lineno) + 1):
            one = Site(site.file, number)
            if syntax.function(one) is function:
                yield syntax.site(site.file, number, function.name)


def _helpers(site: Site, syntax: Syntax) -> Iterator[Site]:
    """The functions of the program that a line calls by a name which one function, or one class, has."""
    for node in syntax.parsed(site.file).beginning.get(site.line, ()):
        if isinstance(node, ast.Call):
            yield from _defined_once(node, syntax)


def _defined_once(call: ast.Call, syntax: Syntax) -> list[Site]:
    known = [site for file in syntax.files for site in _defined(file, called_name(call), syntax)]
    return known if len(known) == 1 else []


def _defined(file: str, name: str, syntax: Syntax) -> Iterator[Site]:
    """The functions of a name, and what a class of this name begins with."""
    for function in {id(one): one for one in syntax.parsed(file).functions.values()}.values():
        if isinstance(function, ast.FunctionDef) and function.name == name:
            yield Site(file, function.body[0].lineno, name)
    for node in syntax.nodes(file):
        if isinstance(node, ast.ClassDef) and node.name == name:
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and one.name == "__init__":
                    yield Site(file, one.body[0].lineno, one.name)


def _at(stack: Stack, syntax: Syntax) -> Iterator[_Place]:
    for node in syntax.parsed(stack[0].file).beginning.get(stack[0].line, ()):
        is_parameter = isinstance(node, ast.Call) and _is_parameter(node)
        is_data = isinstance(node, ast.Attribute) and node.attr == "data" and isinstance(node.ctx, ast.Load)
        value = node.args[0] if isinstance(node, ast.Call) and is_parameter else None
        value = node.value if isinstance(node, ast.Attribute) and is_data else value
        if isinstance(value, _NO_OPERATOR):
            yield _Place(stack, last_name(value), is_parameter)


def _is_parameter(call: ast.Call) -> bool:
    return called_name(call) == "Parameter" and bool(call.args)


def _bound(before: Stack, syntax: Syntax) -> set[str]:
    """The names that are bound to what comes from the first operator."""
    found = (syntax.parsed(site.file).whole_statements.get(site.line) for site in user_frames(before))
    targets = [one.targets for one in found if isinstance(one, ast.Assign)]
    return {name for each in targets for one in each for name in (last_name(one), *names_in(one)) if name}
