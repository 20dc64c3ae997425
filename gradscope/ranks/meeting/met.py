"""A rank at a place of its group's sequence: under which stack it was there, and in which trip of a loop."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.model.rank import Collective, Rank
from gradscope.model.site import Site, Stack, user_frames, user_site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.meeting.parting import Parting
from gradscope.ranks.source.passing import parting as ways_part
from gradscope.ranks.source.rounds import stacks_between
from gradscope.ranks.source.syntax import Loop, statements
from gradscope.store.collective_reader import read_backward_before, read_place, read_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load


@dataclass(frozen=True, slots=True)
class Met:
    """A rank at a place of its group's sequence, what it entered there, and under which stack; `before`: that of what
    it had entered before. `runs`: the stretches of operators that ended with these, the earlier one first."""

    rank: Rank
    recording: Recording
    collective: Collective
    stack: Stack
    before: Stack
    runs: tuple[int, int] = (0, 0)


def met_at(ranks: Ranks, parting: Parting, number: int, files: ExitStack) -> Met:
    """A rank where it parts from others."""
    rank = ranks.rank(number)
    recording = files.enter_context(load(Path(rank.path)))
    with damage_is_one_sentence(recording.path):
        tables = recording.tables
        place, before = (
            read_place(tables.rows, tables.interned, parting.key, at) for at in (parting.at, parting.at - 1)
        )
    stack, backward, run = place or ((), None, 0)
    collective = parting.entered[number]
    return Met(
        rank,
        recording,
        collective if backward is None else replace(collective, backward=backward),
        stack,
        before[0] if before else (),
        (before[2] if before else run, run),
    )


def texts_of(one: Met, other: Met) -> Recording:
    """The recording that has the texts of the program: those of a rank that was killed lack."""
    return one.recording if one.recording.sources() else other.recording


def has_met(one: Met) -> bool:
    """Whether a rank had met others at its line before."""
    with damage_is_one_sentence(one.recording.path):
        runs, interned = read_runs(one.recording.tables.rows), one.recording.tables.interned
        stacks = {run[-1] for run in runs if run[1] < one.runs[1]}
        return any(str(user_site(interned.stack(stack))) == str(user_site(one.stack)) for stack in stacks)


def are_in_one_trip(one: Met, other: Met) -> bool:
    """Whether two ranks are in one trip of a loop, which both began after they had met last: both have run equally many
    backward calls, one or more since then, and the last of them by one line of the loop, above both or below both."""
    parted = ways_part(one.stack, other.stack)
    last = _backward_since(one)
    if parted is None or last is None or last != _backward_since(other):
        return False
    first, second = sorted(site.line for site in parted)
    line, of_other = (_line_in(each, parted[0], last) for each in (one, other))
    if line is None or line != of_other or first <= line <= second:
        return False
    loops = [node for node in statements(texts_of(one, other), parted[0]) if isinstance(node, Loop)]
    around = [node for node in loops if _holds(node, first) and _holds(node, second)]
    return bool(around) and _holds(around[-1], line)


def came_round(one: Met, other: Met) -> bool:
    """Whether two ranks came round since they met at a line, the other to that line again, as in the next backward,
    past the line above it at which one is, and both on the way to equally many backward calls."""
    parted = ways_part(one.stack, other.stack)
    if parted is None or parted[0].line >= parted[1].line or _coming_to(one) != _coming_to(other):
        return False
    way, *met = (list(reversed(user_frames(stack))) for stack in (other.stack, one.before, other.before))
    depth = way.index(parted[1])
    lines = [*map(str, way[: depth + 1])]
    if any([*map(str, stack[: depth + 1])] != lines for stack in met):
        return False
    between = (list(reversed(user_frames(stack))) for stack in stacks_between(other.recording, *other.runs))
    passed = (stack[depth] for stack in between if [*map(str, stack[:depth])] == lines[:-1] and len(stack) > depth)
    return any(site.is_in_function_of(parted[0]) and site.line <= parted[0].line for site in passed)


def _coming_to(one: Met) -> int:
    """The backward call in which a rank is, or which is its next."""
    if one.collective.inside:
        return one.collective.backward
    with damage_is_one_sentence(one.recording.path):
        last = read_backward_before(one.recording.tables.rows, one.runs[1])
    return 0 if last is None else last + 1


def _holds(loop: Loop, line: int) -> bool:
    return loop.lineno < line <= (loop.end_lineno or 0)


def _backward_since(one: Met) -> int | None:
    """The last backward call that a rank ran before it came to its place, and after its last meeting; None without."""
    if one.collective.inside:
        return None
    with damage_is_one_sentence(one.recording.path):
        before, now = (read_backward_before(one.recording.tables.rows, run) for run in one.runs)
    return None if now == before else now


def _line_in(one: Met, place: Site, backward: int) -> int | None:
    """The line of the function of a place, on the way to it, by which a rank came to a backward call."""
    stack = next((each.stack for each in one.recording.backwards() if each.number == backward), ())
    own, way = list(reversed(user_frames(one.stack))), list(reversed(user_frames(stack)))
    for here, there in zip(own, way, strict=False):
        if here.is_in_function_of(place) and here.is_in_function_of(there):
            return there.line
        if str(here) != str(there):
            return None
    return None
