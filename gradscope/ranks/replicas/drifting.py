"""Why copies of a model drift apart: another learning rate, a call that one rank leaves out, weights that it writes."""

from __future__ import annotations

import ast
from pathlib import Path

from gradscope.model.operation import Operation
from gradscope.model.rank import Rank
from gradscope.model.site import Site, Stack, user_site
from gradscope.model.training import (
    AUTOCAST,
    EVAL,
    FORWARD,
    GAP,
    SCALED_STEP,
    STATE,
    STEP,
    TRAIN,
    Interval,
    TrainingCall,
)
from gradscope.ranks.core.copies import Apart, looks_of
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.gradients.scaled import Side, decided_apart
from gradscope.ranks.meeting.closures import called_unevenly
from gradscope.ranks.replicas.crossed_sums import crossed_before
from gradscope.ranks.replicas.drawn_writes import drawn_for
from gradscope.ranks.replicas.rates import unlike_rates
from gradscope.ranks.replicas.read_below import measures_below, read_below
from gradscope.ranks.replicas.written_from import written_from_alone
from gradscope.ranks.source.chosen import gone_through_by_rank
from gradscope.ranks.source.deciding import choices_at, conditions_of, decided_at, rank_that_decides
from gradscope.ranks.source.given import frames_of
from gradscope.ranks.source.passing import Branch, passed_by
from gradscope.ranks.source.syntax import at_line, turns
from gradscope.store.reader import Recording, load

_NO_DECISION = (FORWARD, GAP, STATE, TRAIN, EVAL, AUTOCAST)  # kinds of calls that change no weight


def why_apart(ranks: Ranks, found: Apart) -> tuple[str, Site] | None:
    """What a rank does that another one does not, and the line; None where that is not known."""
    odd, other = _two(ranks, found)
    equal = max(look for look in looks_of(ranks.weights, found.replicas) if look < found.backward)
    with load(Path(odd.path)) as here, load(Path(other.path)) as there:
        sides = (odd, here), (other, there)
        leaves = (ranks.own(odd.rank, found.leaf), ranks.own(other.rank, found.leaf))
        known = _left_apart(*sides, found) or crossed_before(ranks, *sides, found)
        return known or _writes(*sides, leaves, (equal, found.backward))


def left_apart(ranks: Ranks, found: Apart) -> tuple[str, Site] | None:
    """What one rank does and another one leaves out, or does by a setting of its own; None where that is not known."""
    odd, other = _two(ranks, found)
    with load(Path(odd.path)) as here, load(Path(other.path)) as there:
        return _left_apart((odd, here), (other, there), found)


def _two(ranks: Ranks, found: Apart) -> tuple[Rank, Rank]:
    """One that is not as most are, and one that is."""
    return ranks.rank(found.odd[0]), ranks.rank(next(one for one in found.members if one not in found.odd))


def _left_apart(odd: Side, other: Side, found: Apart) -> tuple[str, Site] | None:
    left_out = decided_apart(odd, other, found.backward) or _calls(odd, other, found)
    uneven = called_unevenly(odd[1], other[1])
    told = None if uneven is None else uneven.told
    return unlike_rates(odd[1], other[1]) or told or left_out


def _calls(odd: Side, other: Side, found: Apart) -> tuple[str, Site] | None:
    """A call that one rank makes between two backward calls and the other does not."""
    backwards = [{one.number: one.stack for one in recording.backwards()} for _, recording in (odd, other)]
    before: Site | None = None
    for ours, theirs in zip(odd[1].intervals(), other[1].intervals(), strict=False):
        if ours.backward != theirs.backward or ours.backward is None or ours.backward > found.backward:
            return None
        first, second = _deciding(ours), _deciding(theirs)
        at = _common(first, second)
        if at < max(len(first), len(second)):
            longer = len(first) > len(second)
            more, less, without = (first, second, other) if longer else (second, first, odd)
            last = more[at - 1].site if at else before
            beyond = less[at].stack if at < len(less) else backwards[longer].get(ours.backward, ())
            return _left_out(without, more[at], last, beyond) if at < len(more) else None
        before = user_site(backwards[0].get(ours.backward, ()))
    return None


def _deciding(interval: Interval) -> list[TrainingCall]:
    return [call for call in interval.calls if call.kind not in _NO_DECISION]


def _common(first: list[TrainingCall], second: list[TrainingCall]) -> int:
    """How many calls both begin with, by kind and line."""
    pairs = enumerate(zip(first, second, strict=False))
    unlike = (at for at, (one, other) in pairs if (one.kind, one.site) != (other.kind, other.site))
    return next(unlike, min(len(first), len(second)))


def _left_out(without: Side, call: TrainingCall, last: Site | None, beyond: Stack) -> tuple[str, Site] | None:
    """The way past a call that a rank took, after the `last` line of both and before `beyond`; else the call's line."""
    (rank, recording), site = without, call.site
    if site is None:
        return None
    why = f"rank {rank.rank} leaves a {call.kind.name} out that the other makes"
    branch = passed_by(recording, call.stack, beyond)
    together = last is not None and last.is_in_function_of(site)
    turn = max(turns(recording, last, site), default=None) if last is not None and together else None
    if branch is None and turn is not None:
        return _decided(recording, call.stack, at_line(recording, site, turn), why)
    asked = rank_that_decides(recording, call.stack)
    condition = _measuring(recording, call.stack) if branch is None else branch.condition
    if asked is not None and condition is not None and measures_below(recording, condition, asked):
        asked = None  # by which a rank has other samples, say
    if asked is not None or condition is None:
        return why, asked or site
    return _decided(recording, call.stack, condition, why)


def _measuring(recording: Recording, stack: Stack) -> Site | None:
    """The one condition, of those by which a program comes to a line, that asks for what is measured by a rank alone;
    None where there are several."""
    frames = (one for one in frames_of(recording, stack) if not isinstance(one.function, ast.Module))
    tests = ((one.site, test) for one in frames for test in (*conditions_of(one), *choices_at(one)))
    found = dict.fromkeys(at_line(recording, site, test.lineno) for site, test in tests)
    measuring = [one for one in found if decided_at(recording, stack, one) or read_below(recording, one)]
    return measuring[0] if len(measuring) == 1 else None


def _decided(recording: Recording, stack: Stack, condition: Site, why: str) -> tuple[str, Site]:
    """The line that measures what a condition asks for, in which no other rank has a part; else the condition."""
    by_rank = Branch(condition, condition).is_of_a_rank
    measured = decided_at(recording, stack, condition) or (None if by_rank else read_below(recording, condition))
    if measured is None:
        return why, condition
    return f"{why}: line {condition.line} asks for what each rank measures here by itself", measured


def _writes(odd: Side, other: Side, leaves: tuple[str, str], looks: tuple[int, int]) -> tuple[str, Site] | None:
    """The first line that writes the leaf after a look at which all were equal, and did not before: no step does; the
    condition by which one rank alone came to it. `looks` are that one, and the first at which they are apart."""
    sides = zip((odd, other), leaves, strict=True)
    ours, theirs = (_written_at(recording, leaf, *looks) for (_, recording), leaf in sides)
    for (rank, recording), here, there in ((odd, ours, theirs), (other, theirs, ours)):
        stack = next((stack for stack in here if user_site(stack) not in map(user_site, there)), None)
        site = None if stack is None else user_site(stack)
        if stack is not None and site is not None:
            why = f"rank {rank.rank} writes it, and the other does not"
            return why, rank_that_decides(recording, stack) or gone_through_by_rank(recording, stack) or site
    return _written_by_all(odd, other, ours[0], looks) if ours else None


def _written_by_all(odd: Side, other: Side, stack: Stack, looks: tuple[int, int]) -> tuple[str, Site] | None:
    """Where one rank alone brings up to date what all write by one line, or each draws it; else that line."""
    site = user_site(stack)
    if site is None:
        return None
    alone = written_from_alone(odd[1], other[1], stack, looks[1])
    drawn = drawn_for(odd[1], other[1], stack, looks) if alone is None else None
    if drawn is not None:
        return f"line {site.line} writes it, by random numbers that each rank draws here by itself", drawn
    if alone is None:
        return "each rank writes it by itself", site
    rank = (odd, other)[alone[0]][0].rank
    why = f"line {site.line} writes it on all ranks, from what rank {rank} alone brings up to date"
    return why, alone[1]


def _written_at(here: Recording, leaf: str, equal: int, apart: int) -> list[Stack]:
    """Where a rank writes the leaf between two looks, by lines that did not before the first, but for steps."""
    steps = {call.site for each in here.intervals() for call in each.calls if call.kind in (STEP, SCALED_STEP)}
    begun = {one.number: one.started for one in here.backwards()}
    earlier = {*steps, None}
    new: list[Stack] = []
    for block in here.blocks():
        stacks = [one.stack for one in block.operations if _writes_it(one, leaf)]
        if block.started > begun.get(apart, 0.0):
            break
        if block.started <= begun.get(equal, 0.0):
            earlier.update(map(user_site, stacks))
        new += [stack for stack in stacks if user_site(stack) not in earlier]
    return new


def _writes_it(one: Operation, leaf: str) -> bool:
    return any(write.leaf == leaf for write in one.writes) and "c10d" not in one.name
