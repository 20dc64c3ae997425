"""A step before which ranks gave each other nothing, where they did before each of the earlier ones: that of a window
that is not full, say.

A program that turns to steps of each rank's own on purpose does not come back to the old exchange.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Told
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_ENOUGH = 2  # steps with an exchange


@dataclass(frozen=True, slots=True)
class _Step:
    """When a parameter was written and by which lines, and the lines of what was exchanged since the step before."""

    started: float
    lines: tuple[str, ...]
    stack: Stack
    met: frozenset[tuple[str, ...]]


def stepped_unexchanged(recording: Recording, leaf: str, equal: int, apart: int) -> Told | None:
    """Why a parameter went apart between two looks, and the line that comes to the step without an exchange."""
    begun = {one.number: one.started for one in recording.backwards()}
    steps = list(_steps(recording, leaf))
    early = list(takewhile(lambda step: step.started < begun.get(equal, 0.0), steps))
    usual = frozenset.intersection(*(one.met for one in early)) if len(early) >= _ENOUGH else frozenset()
    if not usual:
        return None
    later = steps[len(early) :]
    at = next((at for at, one in enumerate(later) if not one.met & usual), None)
    if at is None or later[at].started > begun.get(apart, 0.0) or not any(one.met & usual for one in later[at + 1 :]):
        return None
    site = _parts_at(early[0].stack, later[at].stack)
    return (
        None
        if site is None
        else ("a step is made before which the ranks exchange nothing, as they do before others", site)
    )


def _steps(recording: Recording, leaf: str) -> Iterator[_Step]:
    """The writes of a parameter outside of backward calls, those without a collective in between as one."""
    met: set[tuple[str, ...]] = set()
    last: tuple[str, ...] | None = None
    for block in recording.blocks():
        for one in block.operations if block.backward is None else ():
            if is_collective(one.name):
                met.add(_lines(one))
                last = None
            elif any(write.leaf == leaf for write in one.writes):
                lines = _lines(one)
                if lines != last or met:
                    yield _Step(block.started, lines, one.stack, frozenset(met))
                last = lines
                met.clear()
        if block.backward is not None:
            last = None


def _lines(one: Operation) -> tuple[str, ...]:
    return tuple(map(str, user_frames(one.stack)))


def _parts_at(usual: Stack, other: Stack) -> Site | None:
    """The first line from outside in of a step that is not that of the usual one, else its innermost."""
    frames = user_frames(other)
    pairs = zip(user_frames(usual)[::-1], frames[::-1], strict=False)
    return next((two for one, two in pairs if str(one) != str(two)), frames[0] if frames else None)
