"""The functions by which the source comes to a line, where no stack was recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model.site import Site
from gradscope.ranks.attributes import calls_of
from gradscope.ranks.given import Frame
from gradscope.ranks.syntax import function_around
from gradscope.store.reader import Recording

_DEEPEST = 4  # callers of callers


def ways_to(
    recording: Recording, file: str, tree: ast.Module, line: int, depth: int = _DEEPEST
) -> Iterator[list[Frame]]:
    """The functions by which the source comes to a line, the innermost first."""
    function = function_around(tree, line)
    frame = Frame(Site(file, line, "<module>" if function is None else function.name), tree, function or tree)
    callers = [] if function is None or not depth else list(calls_of(recording, function.name))
    for caller in callers:
        yield from ([frame, *rest] for rest in ways_to(recording, *caller[:2], caller[2].lineno, depth - 1))
    if not callers:
        yield [frame]
