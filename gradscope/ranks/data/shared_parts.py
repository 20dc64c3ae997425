"""Whether what a DistributedSampler shares comes from a permutation that a line of the program's draws."""

from __future__ import annotations

import ast
from functools import partial

from gradscope.functions.source import called_name
from gradscope.model.site import Origin, Stack
from gradscope.ranks.source.attributes import calls_of
from gradscope.ranks.source.callers import ways_to
from gradscope.ranks.source.deciding import asks_for_rank, origin
from gradscope.ranks.source.given import Frame
from gradscope.store.reader import Recording

DRAWN = "randperm"
_PART = "Subset"
_SAMPLER = "DistributedSampler"


def parts_what_is_shared(recording: Recording, stack: Stack) -> bool:
    """Whether a line that draws a permutation parts what a sampler shares, as all callers give it that in the source;
    not where any of it goes back to the rank."""
    site = stack[0]
    if site.origin is not Origin.USER:
        return False

    def is_drawn(value: ast.expr) -> bool:
        calls = (node for node in ast.walk(value) if isinstance(node, ast.Call))
        return any(called_name(one) == DRAWN and one.lineno == site.line for one in calls)

    for file, tree, call in calls_of(recording, _SAMPLER):
        for frames in ways_to(recording, file, tree, call.lineno) if call.args else ():
            seen: list[ast.expr] = []
            found = origin(recording, frames, call.args[0], is_drawn, partial(_noted, seen))
            if found is not None and found.file == site.file and any(map(_takes_a_part, seen)):
                return origin(recording, frames, call.args[0], asks_for_rank) is None
    return False


def _noted(seen: list[ast.expr], frames: list[Frame], value: ast.expr) -> ast.expr:
    seen.append(value)
    return value


def _takes_a_part(value: ast.expr) -> bool:
    return any(isinstance(node, ast.Call) and called_name(node) == _PART for node in ast.walk(value))
