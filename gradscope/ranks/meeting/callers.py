"""The lines by which a rank came to a backward, as the functions see them in which that was called.

What these call may have loops of its own, of data: its lines are not asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import dropwhile, groupby
from operator import attrgetter

from gradscope.model.operation import Operation
from gradscope.model.site import Stack, user_frames


def lines_to(way: list[Operation], stack: Stack) -> list[Operation]:
    """The first operator of each line of the functions that a backward is called in, on the way to it, each as if that
    line had run it; without those below the backward before, where one rank may tell more than another."""
    within = {(site.file, site.function) for site in user_frames(stack)}
    return lines_of(list(dropwhile(lambda one: not leads_to(one.stack, stack), _in_callers(way, within))))


def _in_callers(way: list[Operation], within: set[tuple[str, str]]) -> Iterator[Operation]:
    for one in way:
        stack = tuple(dropwhile(lambda site: (site.file, site.function) not in within, one.stack))
        if stack:
            yield replace(one, stack=stack)


def leads_to(beyond: Stack, stack: Stack) -> bool:
    """Whether a line, or its caller's, stands above a backward's, or its caller's, in one function: else it has a loop
    of its own."""
    around = {(site.file, site.function): site.line for site in reversed(stack)}
    here = next((site for site in beyond if (site.file, site.function) in around), None)
    return here is not None and here.line <= around[here.file, here.function]


def lines_of(way: list[Operation]) -> list[Operation]:
    """The first operator of each line, as often as it was come to."""
    return [next(alike) for _, alike in groupby(way, key=attrgetter("site"))]
