"""What a rank ran between two collectives, and whether it went through a loop anew between them."""

from __future__ import annotations

import ast
from itertools import takewhile

from gradscope.model.site import Origin, Site, Stack
from gradscope.ranks.source.syntax import Loop, function_around, tree_of
from gradscope.store.operation_reader import read_blocks
from gradscope.store.reader import Recording

_LOADER = "torch/utils/data/dataloader.py"
_BEGINS = "__iter__"  # of a loader of torch's: no generator, so that it runs when a loop begins


def stacks_between(recording: Recording, first: int, last: int) -> set[Stack]:
    """Those of what ran after one stretch of operators, and no later than in another."""
    return _stacks_of(recording, f"SELECT number FROM block_run WHERE number > {first} AND number <= {last}")


def stacks_after(recording: Recording, backward: int) -> set[Stack]:
    """Those of what ran after the last operator of a backward call, on all threads; none where none of it is known."""
    last = f"SELECT max(number) FROM block_run WHERE backward = {backward}"
    return _stacks_of(recording, f"SELECT number FROM block_run WHERE number > ({last})")


def _stacks_of(recording: Recording, among: str) -> set[Stack]:
    tables = recording.tables
    blocks = read_blocks(tables.rows, tables.interned, among)
    return {one.stack for block in blocks for one in block.operations if one.stack}


def begins_anew(recording: Recording, loop: Loop, way: list[Site], between: set[Stack]) -> bool:
    """Whether a loop was left and begun again, by what ran `between`: lines of its function outside of it, lines of its
    callers, or the beginning of a loader of torch's. `way`: the user's lines down to one in it."""
    return any(_is_outside(recording, loop, way, stack) for stack in between)


def _is_outside(recording: Recording, loop: Loop, way: list[Site], stack: Stack) -> bool:
    other = [site for site in reversed(stack) if site.origin is Origin.USER]
    depth = next((at for at, (one, two) in enumerate(zip(way, other, strict=False)) if str(one) != str(two)), None)
    if depth is None:
        return len(other) == len(way) and _begins(loop, way[-1], stack)
    here, there = way[depth], other[depth]
    if not here.is_in_function_of(there):
        return False
    if depth == len(way) - 1:
        inside = loop.lineno <= there.line <= (loop.end_lineno or 0)
        return not inside or (len(other) == len(way) and _begins(loop, there, stack))
    return not any(_yields(recording, site) for site in way[depth + 1 :])


def _begins(loop: Loop, site: Site, stack: Stack) -> bool:
    """Whether a loader begins on the line of a loop."""
    inside = list(takewhile(lambda one: one.origin is not Origin.USER, stack))
    loaders = [one.function for one in inside if one.file.endswith(_LOADER)]
    return site.line == loop.lineno and bool(loaders) and loaders[-1] == _BEGINS


def _yields(recording: Recording, site: Site) -> bool:
    """Whether the function of a line goes on where it was, though its caller ran."""
    function = function_around(tree_of(recording, site), site.line)
    return function is None or any(
        isinstance(node, ast.Yield | ast.YieldFrom | ast.Await) for node in ast.walk(function)
    )
