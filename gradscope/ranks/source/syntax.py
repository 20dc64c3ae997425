"""The statements of a file that a recording holds, and its lines as sites."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from gradscope.functions.source import parsed
from gradscope.model.site import Site
from gradscope.store.reader import Recording

Loop = ast.For | ast.AsyncFor | ast.While
Function = ast.FunctionDef | ast.AsyncFunctionDef
JUMPS = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def tree_of(recording: Recording, site: Site) -> ast.Module:
    """The syntax of the file of a site; empty where it cannot be parsed."""
    return _parsed(recording.source(site.file) or "")


@lru_cache(maxsize=1024)
def _parsed(source: str) -> ast.Module:
    """Each text once: what a value goes back to is looked for in all files, again and again."""
    return parsed(source) or ast.Module([], [])


@lru_cache(maxsize=1024)
def nodes_of(tree: ast.Module) -> tuple[ast.AST, ...]:
    """All nodes of a file, breadth first."""
    return tuple(ast.walk(tree))


def function_around(tree: ast.Module, line: int) -> Function | None:
    """The innermost function around a line."""
    functions = [node for node in nodes_of(tree) if isinstance(node, Function)]
    return next((one for one in reversed(functions) if one.lineno <= line <= (one.end_lineno or 0)), None)


def nodes_in(function: Function | ast.Module) -> list[ast.AST]:
    """What stands in a function, or a file, and not in the functions inside of it."""
    found: list[ast.AST] = [*function.body]
    for node in found:
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            found += ast.iter_child_nodes(node)
    return found


def at_line(recording: Recording, site: Site, line: int) -> Site:
    """A line of the same function, with its text."""
    return replace(site, line=line, source=(recording.source(site.file) or "").splitlines()[line - 1].strip())


def statements(recording: Recording, site: Site) -> list[ast.stmt]:
    """All statements of a file."""
    return [node for node in nodes_of(tree_of(recording, site)) if isinstance(node, ast.stmt)]


def of_loop(loop: Loop) -> Iterator[ast.stmt]:
    """The statements of a loop, without those of loops and functions in it."""
    waiting: list[ast.AST] = list(loop.body)
    while waiting:
        node = waiting.pop(0)
        if isinstance(node, ast.stmt):
            yield node
        if not isinstance(
            node, (ast.For, ast.AsyncFor, ast.While, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            waiting += [one for one in ast.iter_child_nodes(node) if not isinstance(one, ast.expr)]


def turns(recording: Recording, last: Site, beyond: Site) -> Iterator[int]:
    """The lines after one line at which a program may turn away from another: a jump is told by its condition."""
    made = statements(recording, last)
    conditions = [node for node in made if isinstance(node, ast.If) and node.lineno < beyond.line]
    passing = [one for one in conditions if not _is_around(one, beyond.line)]
    for node in made:
        if isinstance(node, JUMPS) and last.line < node.lineno < beyond.line:
            yield max((one.lineno for one in passing if _is_around(one, node.lineno)), default=node.lineno)
    yield from (one.lineno for one in conditions if last.line <= one.lineno and _is_around(one, beyond.line))


def _is_around(condition: ast.If, line: int) -> bool:
    return condition.lineno <= line <= (condition.end_lineno or 0)
