"""The line that draws what all ranks write into a parameter by one line: each from random numbers of its own.

The surprise: the write is the same on all ranks, and runs in the same step. Only what it takes was drawn.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from gradscope.model.operation import base_name
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.source.deciding import DRAWS
from gradscope.ranks.source.seeds import drawing_calls
from gradscope.store.reader import Recording

_DRAWS = DRAWS | {"rand_like", "randn_like", "randint_like", "exponential_"}


def drawn_for(here: Recording, there: Recording, stack: Stack, looks: tuple[int, int]) -> Site | None:
    """The one line that both ranks come to for the first time between two looks, and that draws on the way to a write.

    On the way to it: by way of a function that also comes to the write, and not to a backward.
    """
    lines = [dict.fromkeys(_drawing(one, stack, looks)) for one in (here, there)]
    return next(iter(lines[0])) if len(lines[0]) == 1 and lines[0].keys() == lines[1].keys() else None


def _drawing(recording: Recording, stack: Stack, looks: tuple[int, int]) -> Iterator[Site]:
    begun = {one.number: one.started for one in recording.backwards()}
    loops = [frame for call in recording.backwards() for frame in user_frames(call.stack)]
    earlier = set[Site]()
    for block in recording.blocks():
        if block.started > begun.get(looks[1], 0.0):
            return
        drawn = (one for one in block.operations if block.backward is None and base_name(one.name) in _DRAWS)
        for one in drawn:
            is_new = one.site is not None and one.site not in earlier
            if one.site is not None and block.started <= begun.get(looks[0], 0.0):
                earlier.add(one.site)
            elif is_new and _is_on_the_way(one.stack, stack, loops) and not drawing_calls(recording, one.stack, True):
                yield from () if one.site is None else (one.site,)


def _is_on_the_way(drawn: Stack, written: Stack, loops: list[Site]) -> bool:
    """Whether two lines are come to by way of one function, which comes to no backward."""
    one, other = user_frames(drawn), user_frames(written)
    pairs = zip(reversed(one), reversed(other), strict=False)
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if common in (len(one), len(other)):
        return common == len(one) == len(other)  # one line draws and writes
    ours, theirs = one[-common - 1], other[-common - 1]
    return ours.is_in_function_of(theirs) and not any(frame.is_in_function_of(ours) for frame in loops)
