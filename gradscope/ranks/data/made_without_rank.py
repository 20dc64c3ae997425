"""The one line that makes a stream of data and says no rank, where the others that make one of its kind do."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.model.site import Site, Stack
from gradscope.ranks.source.attributes import calls_of, class_around
from gradscope.ranks.source.deciding import asks_for_rank
from gradscope.ranks.source.given import Frame, frames_of
from gradscope.ranks.source.syntax import Function, at_line, function_around, nodes_in
from gradscope.store.reader import Recording

_GIVES = frozenset(("__iter__", "__next__", "__getitem__"))


def made_without_rank(recording: Recording, drawn: Stack) -> Site | None:
    """Such a line, of the innermost stream that has one, in which something is drawn under a stack."""
    for name in filter(None, map(_stream, frames_of(recording, drawn))):
        calls = list(calls_of(recording, name))
        without = [(file, tree, call) for file, tree, call in calls if not any(map(asks_for_rank, _given(call)))]
        if len(without) == 1 and len(calls) > 1:
            file, tree, call = without[0]
            function = function_around(tree, call.lineno)
            place = Site(file, call.lineno, "<module>" if function is None else function.name)
            return at_line(recording, place, call.lineno)
    return None


def _stream(frame: Frame) -> str | None:
    """The name by which what a function gives is made: its class's, of what is gone through, or of a generator its
    own."""
    own = class_around(frame)
    if own is not None:
        methods = {one.name for one in own.node.body if isinstance(one, Function)}
        return own.node.name if _GIVES & methods else None
    function = frame.function
    yields = isinstance(function, Function) and any(
        isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes_in(function)
    )
    return function.name if yields and isinstance(function, Function) else None


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from (*call.args, *(one.value for one in call.keywords))
