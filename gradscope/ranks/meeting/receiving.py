"""The line that makes what a rank receives a broadcast into, where the root sends another size.

The name may be bound in both arms of a condition, so what ran tells which one the rank that receives went by."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from gradscope.functions.source import called_name
from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack
from gradscope.ranks.meeting.met import Met, texts_of
from gradscope.ranks.source.deciding import origin
from gradscope.ranks.source.given import Frame, frames_of, passed_to, sent_by, unconverted
from gradscope.ranks.source.meetings import without_meetings
from gradscope.ranks.source.syntax import at_line
from gradscope.ranks.source.ways import ways_of
from gradscope.store.reader import Recording

_BROADCASTS = "broadcast"
_ALLOCATES = frozenset(("empty", "zeros", "ones", "full", "new_empty", "new_zeros", "new_ones", "new_full"))


def made_to_receive(odd: Met, usual: Met) -> tuple[Met, Site] | None:
    """Which of two ranks receives, and that line, of one call in which both are; None where the root made it by the
    same line, or where the size goes back to what the ranks had told each other."""
    root = odd.collective.peer
    if odd.collective.name != _BROADCASTS or root is None:
        return None
    receiver, sender = (usual, odd) if odd.rank.rank == root else (odd, usual)
    texts, stack = texts_of(receiver, sender), receiver.stack
    here, there = _lines(receiver), _lines(sender)
    made = [
        (frames, value)
        for frames, value in _allocations(texts, stack)
        if (place := (frames[0].site.file, value.lineno)) in here and place not in there
    ]
    if len(made) != 1 or _is_told(texts, *made[0]):
        return None
    return receiver, at_line(texts, made[0][0][0].site, made[0][1].lineno)


def _lines(met: Met) -> set[tuple[str, int]]:
    """The lines that a rank ran on its way to the backward that came next; of all ways where none came."""
    ways = ways_of(met.recording)
    run: list[Operation] = ways.get(met.collective.backward) or [one for way in ways.values() for one in way]
    return {(one.site.file, one.site.line) for one in run if one.site is not None}


def _allocations(recording: Recording, stack: Stack) -> Iterator[tuple[list[Frame], ast.Call]]:
    """What makes new tensors in the name that a collective is given, with the functions around it."""
    frames = frames_of(recording, stack)
    given = sent_by(frames[0]) if frames else None
    while frames and isinstance(given, ast.Name):
        bound = [
            unconverted(value)
            for node in ast.walk(frames[0].function)
            if isinstance(node, ast.Assign) and node.lineno < frames[0].site.line and _binds(node, given.id)
            for value in _arms(node.value)
        ]
        yield from ((frames, one) for one in bound if isinstance(one, ast.Call) and called_name(one) in _ALLOCATES)
        given = None if bound else passed_to(frames, 0, given.id)
        frames = frames[1:]


def _binds(node: ast.Assign, name: str) -> bool:
    return any(isinstance(one, ast.Name) and one.id == name for one in node.targets)


def _arms(value: ast.expr) -> tuple[ast.expr, ...]:
    return (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,)


def _is_told(recording: Recording, frames: list[Frame], value: ast.Call) -> bool:
    """Whether the size of what is made goes back to what ranks met for."""

    def alone(around: list[Frame], one: ast.expr) -> ast.expr:
        return without_meetings(recording, around[0], one)

    return origin(recording, frames, value, _has_nothing, alone) is not None


def _has_nothing(value: ast.expr) -> bool:
    return any(isinstance(one, ast.Constant) and one.value is None for one in ast.walk(value))
