"""The functions by which the source comes to a line, where no stack was recorded."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model.site import Site
from gradscope.ranks.source.attributes import calls_of, class_around
from gradscope.ranks.source.given import Frame
from gradscope.ranks.source.syntax import function_around
from gradscope.store.reader import Recording

_DEEPEST = 4  # callers of callers


def ways_to(
    recording: Recording, file: str, tree: ast.Module, line: int, depth: int = _DEEPEST
) -> Iterator[list[Frame]]:
    """The functions by which the source comes to a line, the innermost first."""
    function = function_around(tree, line)
    frame = Frame(Site(file, line, "<module>" if function is None else function.name), tree, function or tree)
    name = None if function is None or not depth else _called(frame)
    callers = [] if name is None else list(calls_of(recording, name))
    for caller in callers:
        yield from ([frame, *rest] for rest in ways_to(recording, *caller[:2], caller[2].lineno, depth - 1))
    if not callers:
        yield [frame]


def _called(frame: Frame) -> str:
    """The name by which a function is called: a class makes an object by its own."""
    name = getattr(frame.function, "name", "")
    own = class_around(frame) if name == "__init__" else None
    return name if own is None else own.node.name
