"""Where a rank went another way than one that it does not meet: out of a loop, or of a step before its backward.

The first is told by the lines where both were last, the second by the lines whose operators ran before a backward.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.model.operation import Operation
from gradscope.model.rank import Rank, State
from gradscope.model.site import Site, Stack, user_frames
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.meeting.callers import leads_to, lines_of, lines_to
from gradscope.ranks.meeting.closures import WHY, called_unevenly
from gradscope.ranks.meeting.last_trips import left_last_step
from gradscope.ranks.meeting.loops import left_for_good
from gradscope.ranks.meeting.yielding import yielded_less
from gradscope.ranks.source.deciding import part_of, rank_that_decides
from gradscope.ranks.source.drawn_parts import drawn_for_part
from gradscope.ranks.source.passing import parting
from gradscope.ranks.source.syntax import at_line, statements, turns
from gradscope.ranks.source.ways import ways_of
from gradscope.store.collective_reader import read_runs
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.rank_reader import read_last_operator
from gradscope.store.reader import Recording, load

LEFT_STEP = "leaving a step before its backward"
DRAWN = "over its part of what each rank draws for itself"
_LEFT_LOOP = "when it left the loop"
_ALONE = "not having come to what another one does alone"


@dataclass(frozen=True, slots=True)
class _Went:
    """The stacks of the last line before a rank went back, of that to which it did, and of the next one of another
    rank's. `after_a_branch`: it had come to other lines before; `in_common`: told by the lines alone that both came to,
    so that it is to be asked whether that is the beginning of a step."""

    last: Stack
    now: Stack
    beyond: Stack
    after_a_branch: bool
    in_common: bool = False


def left(ranks: Ranks, one: Rank) -> tuple[str, Site] | None:
    """What a rank that ended left while others went on in it, and the line; None where that is not to be told."""
    others = [other for other in ranks.ranks if other.waits] if one.state is State.DONE else []
    if not others:
        return None
    with load(Path(one.path)) as here, load(Path(others[0].path)) as there:
        uneven = called_unevenly(here, there)
        if uneven is not None:
            return f"since {WHY}", uneven.returned
        step = left_step(here, there) or left_last_step(here, there)
        if step is not None:
            return LEFT_STEP, step
        return _left_a_loop(here, there, one, others)


def _left_a_loop(here: Recording, there: Recording, one: Rank, others: list[Rank]) -> tuple[str, Site] | None:
    """Which loop a rank left that another one is still in, or that alone came to; and the line that decides it."""
    loop = _left_loop(here, one.last_site, others)
    if loop is None:
        asks = rank_that_decides(there, waits_under(there))
        if asks is not None:
            return _ALONE, asks
        early = left_for_good(there, _last_stack(here), waits_under(there))
        if early is not None and early.decides != early.loop:
            return f"having left the loop of line {early.loop.line} early", early.decides
        loop = _loop_of_callers(here, there) if early is None else early.loop
    if loop is None:
        return None
    words = f"when it left the loop of line {loop.line}"
    fewer = yielded_less(here, there, loop)
    if fewer is not None:
        return f"{words}, for which fewer are yielded to it", fewer
    part = part_of(there, waits_under(there), loop)
    drawn = None if part is None else drawn_for_part(there, part)
    if drawn is not None:
        return f"{words} {DRAWN}", drawn
    return (words, part) if part is not None else (_LEFT_LOOP, loop)


def waits_under(recording: Recording) -> Stack:
    """The stack of the last collective that a rank entered."""
    with damage_is_one_sentence(recording.path):
        runs = read_runs(recording.tables.rows)
        return recording.tables.interned.stack(runs[-1][-1]) if runs else ()


def _last_stack(recording: Recording) -> Stack:
    """The stack of the last operator that a rank began."""
    with damage_is_one_sentence(recording.path):
        last = read_last_operator(recording.tables.rows)
        return () if last is None else recording.tables.interned.stack(last[1])


def _left_loop(here: Recording, last: Site | None, others: list[Rank]) -> Site | None:
    """The innermost loop around the last line of a rank and around the line where another one waits."""
    for there in (other.place for other in others):
        if last is not None and there is not None and there.is_in_function_of(last):
            lines = last.line, there.line
            line = max(_loops(here, last, *lines), default=None)
            return None if line is None else at_line(here, last, line)
    return None


def _loop_of_callers(here: Recording, there: Recording) -> Site | None:
    """The innermost loop around the calls by which a rank came to its last line, and another to where it waits."""
    ours, theirs = (user_frames(stack)[::-1] for stack in (_last_stack(here), waits_under(there)))
    found: Site | None = None
    for one, other in zip(ours, theirs, strict=False):
        if not one.is_in_function_of(other):
            break
        line = max(_loops(here, one, one.line, other.line), default=None)
        found = found if line is None else at_line(here, one, line)
    return found


def _loops(recording: Recording, site: Site, *lines: int) -> Iterator[int]:
    """Where the loops begin that have all of these lines in them."""
    for node in statements(recording, site):
        around = all(node.lineno <= line <= (node.end_lineno or 0) for line in lines)
        if around and isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            yield node.lineno


def left_step(here: Recording, there: Recording) -> Site | None:
    """The way out, or the branch not taken, where a rank went back to a line and the other on to a backward more."""
    if len(here.backwards()) >= len(there.backwards()):
        return None
    return next(iter(steps_left(here, there)), None)


def steps_left(here: Recording, there: Recording) -> list[Site]:
    """The ways out, or branches not taken, where a rank went back to a line and the other on to a backward.

    They are looked for in the lines that they came to, and, as a step may consist of one line, in single operators;
    then in the lines that both came to, as what made a rank leave a step may have run lines of its own before; then in
    those of the functions that a backward is called in, as what these call may have loops of its own, of data.
    """
    stacks, ours, theirs = {call.number: call.stack for call in there.backwards()}, ways_of(here), ways_of(there)
    found: list[Site] = []
    for went_back in (_went_back_by_lines, _went_back, _went_back_by_common_lines, _went_back_in_callers):
        for backward in () if found else sorted(ours.keys() & theirs.keys()):
            stack = stacks.get(backward, ())
            went = went_back(ours[backward], theirs[backward], stack)
            if went is None or not leads_to(went.beyond, stack) or _is_of_another_loop(here, went, stack):
                continue
            parted = parting(went.last, went.beyond)
            line = None if parted is None else min(turns(here, *parted), default=None)
            if parted is not None and line is not None:
                found.append(at_line(here, parted[0], line))
    return found


def _is_of_another_loop(here: Recording, went: _Went, stack: Stack) -> bool:
    """Whether a rank went back in a loop that has no backward in it: of what a step calls, or one that ends before."""
    if went.in_common:
        return not _is_round(here, went, stack)
    last, now = _parted_after_callers(went)
    within = {(site.file, site.function) for site in stack}
    if last is None or now is None or not last.is_in_function_of(now) or (last.file, last.function) in within:
        return False
    return any(_loops(here, last, last.line, now.line))


def _parted_after_callers(went: _Went) -> tuple[Site | None, Site | None]:
    """The frames from outside in that tell where a rank went back from where it went, of the program's own; of one line
    that it came to twice, the innermost."""
    pairs = list(zip(*(user_frames(one)[::-1] for one in (went.last, went.now)), strict=False))
    return next((pair for pair in pairs if str(pair[0]) != str(pair[1])), pairs[-1] if pairs else (None, None))


def _went_back_by_lines(ours: list[Operation], theirs: list[Operation], stack: Stack) -> _Went | None:
    return _went_back(lines_of(ours), lines_of(theirs), stack)


def _went_back_in_callers(ours: list[Operation], theirs: list[Operation], stack: Stack) -> _Went | None:
    """By the lines of the functions that a backward is called in, whatever what they call does."""
    went = _went_back(lines_to(ours, stack), lines_to(theirs, stack), stack)
    return None if went is None else replace(went, in_common=True)


def _went_back_by_common_lines(ours: list[Operation], theirs: list[Operation], stack: Stack) -> _Went | None:
    """By the lines that both came to: these part where the one goes back, so that none runs before that in between."""
    common = {str(one.site) for one in ours} & {str(one.site) for one in theirs}
    mine, others = (lines_of([one for one in way if str(one.site) in common]) for way in (ours, theirs))
    went = _went_back(mine, others, stack)
    return None if went is None or went.after_a_branch else replace(went, in_common=True)


def _went_back(ours: list[Operation], theirs: list[Operation], stack: Stack = ()) -> _Went | None:
    """From the last line that both came to, or one in a branch after it."""
    sites, others = [str(one.site) for one in ours], [str(one.site) for one in theirs]
    pairs = enumerate(zip(sites, others, strict=False))
    at = next((place for place, (one, other) in pairs if one != other), None)
    if not at or others[at] in others[:at]:
        return None
    back = next((place for place in range(at, len(sites)) if sites[place] in sites[:at]), None)
    if back is None or _goes_on(ours[back - 1].stack, ours[back].stack, theirs[at].stack):
        return None
    return _Went(ours[back - 1].stack, ours[back].stack, theirs[at].stack, back > at)


def _is_round(recording: Recording, went: _Went, stack: Stack) -> bool:
    """Whether a rank came to the next trip of a loop around a backward, and not of one that is over before it."""
    last, now, ends = (user_frames(one)[::-1] for one in (went.last, went.now, stack))
    shorter = min(len(last), len(now))
    depth = next((at for at in range(shorter) if str(last[at]) != str(now[at])), shorter)
    if not (depth < shorter and last[depth].is_in_function_of(now[depth])):
        depth -= 1  # what one line calls, one after the other
    if depth < 0 or depth >= len(ends) or [*map(str, ends[:depth])] != [*map(str, last[:depth])]:
        return False
    around = list(_loops(recording, last[depth], last[depth].line, now[depth].line))
    within = set(_loops(recording, ends[depth], ends[depth].line))
    return last[depth].is_in_function_of(ends[depth]) and bool(around) and max(around) in within


def _goes_on(last: Stack, now: Stack, beyond: Stack) -> bool:
    """Whether a rank came to a line below its last one, in the function in which another went beyond."""
    parted = parting(last, beyond)
    if parted is None:
        return False
    place = parted[0].file, parted[0].function
    return any((site.file, site.function) == place and site.line > parted[0].line for site in now)
