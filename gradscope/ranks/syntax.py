"""The statements of a file that a recording holds, and its lines as sites."""

from __future__ import annotations

import ast
from dataclasses import replace

from gradscope.model.site import Site
from gradscope.store.reader import Recording


def tree_of(recording: Recording, site: Site) -> ast.Module:
    """The syntax of the file of a site; empty where it cannot be parsed."""
    try:
        return ast.parse(recording.source(site.file) or "")
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # a file can say anything
        return ast.Module([], [])


def at_line(recording: Recording, site: Site, line: int) -> Site:
    """A line of the same function, with its text."""
    return replace(site, line=line, source=(recording.source(site.file) or "").splitlines()[line - 1].strip())
