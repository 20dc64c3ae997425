"""Where a rank that ended went another way than one that waits for it: out of a loop, or of a step before its backward.

The first is told by the lines where both were last, the second by the lines whose operators ran before a backward.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from gradscope.model.graph import Backward
from gradscope.model.rank import Rank, State
from gradscope.model.site import Site
from gradscope.ranks.known import Ranks
from gradscope.ranks.syntax import at_line, statements, turns
from gradscope.store.reader import Recording, load


def left(ranks: Ranks, one: Rank) -> tuple[str, Site] | None:
    """What a rank that ended left while others went on in it, and the line; None where that is not to be told."""
    others = [other for other in ranks.ranks if other.waits] if one.state is State.DONE else []
    if not others:
        return None
    with load(Path(one.path)) as here, load(Path(others[0].path)) as there:
        step = _left_step(here, there)
        if step is not None:
            return "leaving a step before its backward", step
        loop = _left_loop(here, one.last_site, others)
        return None if loop is None else ("when it left the loop", loop)


def _left_loop(here: Recording, last: Site | None, others: list[Rank]) -> Site | None:
    """The innermost loop around the last line of a rank and around the line where another one waits."""
    for there in (other.place for other in others):
        if last is not None and there is not None and (there.file, there.function) == (last.file, last.function):
            lines = last.line, there.line
            line = max(_loops(here, last, *lines), default=None)
            return None if line is None else at_line(here, last, line)
    return None


def _loops(recording: Recording, site: Site, *lines: int) -> Iterator[int]:
    """Where the loops begin that have all of these lines in them."""
    for node in statements(recording, site):
        around = all(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
        if around and isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            yield node.lineno


def _left_step(here: Recording, there: Recording) -> Site | None:
    """The way out, or the branch not taken, where a rank went back to a line and the other on to a backward more."""
    if len(here.backwards()) >= len(there.backwards()):
        return None
    theirs = _ways(there)
    for backward, ours in _ways(here).items():
        parted = _went_back(ours, theirs.get(backward, []))
        if parted is not None:
            line = min(turns(here, *parted), default=None)
            if line is not None:
                return at_line(here, parted[0], line)
    return None


def _went_back(ours: list[Site], theirs: list[Site]) -> tuple[Site, Site] | None:
    """The last line that both came to and the next one of the other's, in one function."""
    pairs = enumerate(zip(ours, theirs, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), None)
    if not at or ours[at] not in ours[:at] or theirs[at] in theirs[:at]:
        return None
    last, beyond = theirs[at - 1], theirs[at]
    return (last, beyond) if (last.file, last.function) == (beyond.file, beyond.function) else None


def _ways(recording: Recording) -> dict[int, list[Site]]:
    """By backward: the user's lines whose operators ran on the way to it, each as often as it was come to."""
    calls: dict[int, list[Backward]] = defaultdict(list)
    for call in recording.backwards():
        calls[call.thread].append(call)
    found: dict[int, list[Site]] = defaultdict(list)
    for block in recording.blocks(versions=False):
        after = calls[block.thread]
        place = bisect_right(after, block.started, key=attrgetter("started"))
        if block.backward is None and place < len(after):
            sites = (one.site for one in block.operations)
            found[after[place].number] += (site for site, _ in groupby(site for site in sites if site is not None))
    return found
