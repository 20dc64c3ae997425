"""A number of samples that one rank takes for that of all: its own, times the number of ranks, under a sum of all."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name, names_in
from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack, user_site
from gradscope.ranks.source.syntax import at_line, nodes_of, tree_of
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_MOST = 256  # names that are followed
_SIZES = frozenset(("size", "len", "numel", "shape"))
_WORLD = "world"  # stands in what the number of ranks is called

Function = ast.FunctionDef | ast.AsyncFunctionDef


def local_count(recording: Recording, stack: Stack, way: list[Operation]) -> Site | None:
    """The line of such a number, which divides something on the way to what a line computes, in a function that meets
    others on this way to a backward. None where there is none."""
    site = user_site(stack)
    if site is None:
        return None
    functions = [node for node in nodes_of(tree_of(recording, site)) if isinstance(node, Function)]
    around = [node for node in functions if node.lineno <= site.line <= (node.end_lineno or 0)]
    for function, line in _divisors(functions, around[-1:], site.line):
        if _meets(way, site.file, function):
            return at_line(recording, site, line)
    return None


def _meets(way: list[Operation], file: str, function: Function) -> bool:
    """Whether a function called what exchanges something with other ranks."""
    lines = range(function.lineno, (function.end_lineno or 0) + 1)
    stacks = (one.stack for one in way if is_collective(one.name))
    return any(site.file == file and site.line in lines for stack in stacks for site in stack)


def _divisors(functions: list[Function], around: list[Function], line: int) -> Iterator[tuple[Function, int]]:
    """Function and line of each divisor that is a rank's own number times that of ranks, from a line backwards."""
    waiting: list[tuple[Function, ast.expr]] = [
        (function, node)
        for function in around
        for node in ast.walk(function)
        if isinstance(node, ast.expr) and node.lineno <= line <= (node.end_lineno or 0)
    ]
    seen: set[tuple[str, str]] = set()
    while waiting and len(seen) < _MOST:
        function, value = waiting.pop(0)
        for node in ast.walk(value):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
                places = [node.right, *_assigned(function, node.right)]
                yield from ((function, one.lineno) for one in places if _is_of_all(one))
            name = node.id if isinstance(node, ast.Name) else ""
            if name and (function.name, name) not in seen:
                seen.add((function.name, name))
                waiting += [(function, one) for one in _assigned(function, node)]
            called = called_name(node) if isinstance(node, ast.Call) else ""
            if called and ("", called) not in seen:
                seen.add(("", called))
                waiting += _returned(functions, called)


def _assigned(function: Function, name: ast.AST) -> list[ast.expr]:
    """What is assigned to a variable in a function, alone or with others."""
    if not isinstance(name, ast.Name):
        return []
    return [
        node.value
        for node in ast.walk(function)
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == name.id for each in node.targets for one in ast.walk(each))
    ]


def _returned(functions: list[Function], name: str) -> list[tuple[Function, ast.expr]]:
    """What the functions of a name return."""
    named = [function for function in functions if function.name == name]
    return [
        (function, node.value)
        for function in named
        for node in ast.walk(function)
        if isinstance(node, ast.Return) and node.value is not None
    ]


def _is_of_all(value: ast.expr) -> bool:
    """Whether it is a size times the number of ranks."""
    products = [node for node in ast.walk(value) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)]
    sides = [pair for node in products for pair in ((node.left, node.right), (node.right, node.left))]
    return any(_names(size) & _SIZES and any(_WORLD in name for name in _names(world)) for size, world in sides)


def _names(value: ast.expr) -> set[str]:
    attributes = {node.attr for node in ast.walk(value) if isinstance(node, ast.Attribute)}
    return attributes | names_in(value)
