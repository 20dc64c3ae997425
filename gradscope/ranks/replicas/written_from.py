"""A parameter that all ranks write by one line, from what one rank alone has brought up to date."""

from __future__ import annotations

from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.source.chosen import gone_through_by_rank
from gradscope.ranks.source.deciding import rank_that_decides
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.places import brought_up_to_date, taken_from
from gradscope.ranks.source.ways import is_collective
from gradscope.store.reader import Recording

_Ways = dict[tuple[str, ...], Stack]  # by the user's lines, from inside out


def written_from_alone(here: Recording, there: Recording, stack: Stack, apart: int) -> tuple[int, Site] | None:
    """Which of two ranks, 0 or 1, alone brought up to date what a line takes that writes a parameter, before a backward
    call; and the condition or the loop by which the rank comes to that."""
    frames = frames_of(here, stack)
    source = taken_from(here, frames) if frames else set[str]()
    if not source:
        return None
    ways = [_ways_before(recording, apart) for recording in (here, there)]
    for at, recording in enumerate((here, there)):
        for alone in (each for way, each in ways[at].items() if way not in ways[1 - at]):
            if source.isdisjoint(brought_up_to_date(recording, frames_of(recording, alone))):
                continue
            decides = rank_that_decides(recording, alone) or gone_through_by_rank(recording, alone)
            if decides is not None:
                return at, decides
    return None


def _ways_before(recording: Recording, apart: int) -> _Ways:
    """The lines by which a rank came to operators before a backward call, outside of any."""
    begun = {one.number: one.started for one in recording.backwards()}
    seen: set[int] = set()  # identities of stacks, which are alike for all that ran by one
    found: _Ways = {}
    for block in recording.blocks():
        if block.started > begun.get(apart, 0.0):
            break
        for one in block.operations if block.backward is None else ():
            if id(one.stack) not in seen and one.site is not None and not is_collective(one.name):
                found.setdefault(tuple(map(str, user_frames(one.stack))), one.stack)
            seen.add(id(one.stack))
    return found
