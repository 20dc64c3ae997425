"""A step that a rank left before its backward in the last trip of a loop: nothing shows that it went back for another.

All that tells it from a loop with fewer trips is that the rank was in the middle of one, on the way to a backward that
another rank then ran, and came to what stands below the loop.
"""

from __future__ import annotations

from gradscope.model.operation import Operation
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.meeting.callers import leads_to, lines_to
from gradscope.ranks.source.passing import parting
from gradscope.ranks.source.syntax import Loop, at_line, statements, turns
from gradscope.ranks.source.ways import way_on, ways_of
from gradscope.store.reader import Recording


def left_last_step(here: Recording, there: Recording) -> Site | None:
    """The way out of that step, or the branch not taken, where the other rank went on to a backward more."""
    number = max((call.number for call in here.backwards()), default=-1) + 1
    stack = next((call.stack for call in there.backwards() if call.number == number), ())
    ours, theirs = (lines_to(way, stack) for way in (way_on(here), ways_of(there).get(number, [])))
    pairs = enumerate(zip(map(_site, ours), map(_site, theirs), strict=False))
    at = next((at for at, (one, other) in pairs if one != other), min(len(ours), len(theirs)))
    if not at or at == len(theirs) or not leads_to(theirs[at].stack, stack):
        return None
    return _way_out(there, ours[at - 1].stack, theirs[at].stack, ours[at:])


def _site(one: Operation) -> str:
    return str(one.site)


def _way_out(recording: Recording, last: Stack, beyond: Stack, rest: list[Operation]) -> Site | None:
    """The first line between two by which a trip of the loop around them may end, if the `rest` came no further."""
    parted = parting(last, beyond)
    if parted is None:
        return None
    start, end = parted[0].line, parted[1].line
    loops = [node for node in statements(recording, parted[0]) if isinstance(node, Loop)]
    around = [node for node in loops if node.lineno < start < end <= (node.end_lineno or 0)]
    frames = (site for one in rest for site in user_frames(one.stack) if site.is_in_function_of(parted[0]))
    if not around or any(end <= site.line <= (around[-1].end_lineno or 0) for site in frames):
        return None
    line = min(turns(recording, *parted), default=None)
    return None if line is None else at_line(recording, parted[0], line)
