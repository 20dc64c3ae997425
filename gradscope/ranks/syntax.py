"""The statements of a file that a recording holds, and its lines as sites."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from gradscope.model.site import Site
from gradscope.store.reader import Recording

_JUMPS = (ast.Continue, ast.Break, ast.Return, ast.Raise)


def tree_of(recording: Recording, site: Site) -> ast.Module:
    """The syntax of the file of a site; empty where it cannot be parsed."""
    try:
        return ast.parse(recording.source(site.file) or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a file can say anything
        return ast.Module([], [])


def at_line(recording: Recording, site: Site, line: int) -> Site:
    """A line of the same function, with its text."""
    return replace(site, line=line, source=(recording.source(site.file) or "").splitlines()[line - 1].strip())


def statements(recording: Recording, site: Site) -> list[ast.stmt]:
    """All statements of a file."""
    return [node for node in ast.walk(tree_of(recording, site)) if isinstance(node, ast.stmt)]


def turns(recording: Recording, last: Site, beyond: Site) -> Iterator[int]:
    """The lines after one line at which a program may turn away from another."""
    for node in statements(recording, last):
        if isinstance(node, _JUMPS) and last.line < node.lineno < beyond.line:
            yield node.lineno
        if isinstance(node, ast.If) and last.line <= node.lineno < beyond.line <= (node.end_lineno or 0):
            yield node.lineno
