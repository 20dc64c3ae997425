"""What a collective that does not match goes back to: a step that a rank left, a branch that it took, a dtype."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace

from gradscope.model.rank import Collective
from gradscope.model.site import Site
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.meeting.closures import WHY, called_unevenly
from gradscope.ranks.meeting.forwards import went_apart
from gradscope.ranks.meeting.handing import handed_by
from gradscope.ranks.meeting.last_trips import left_last_step
from gradscope.ranks.meeting.leaving import DRAWN, LEFT_STEP, left_step, steps_left
from gradscope.ranks.meeting.loops import left_loop, same_way
from gradscope.ranks.meeting.met import Met, are_in_one_trip, came_round, has_met, met_at, texts_of
from gradscope.ranks.meeting.parting import Parting
from gradscope.ranks.meeting.receiving import made_to_receive
from gradscope.ranks.meeting.skipping import has_met_there, left_out_by
from gradscope.ranks.meeting.yielding import yielded_less
from gradscope.ranks.source.counting import goes_by_an_own_count, goes_by_the_trip
from gradscope.ranks.source.deciding import decided_at, part_of
from gradscope.ranks.source.drawn_parts import drawn_for_part
from gradscope.ranks.source.given import made_at
from gradscope.ranks.source.passing import Branch, gone_into, passed_by
from gradscope.ranks.source.rounds import stacks_between
from gradscope.ranks.source.set_orders import BY_A_SET, goes_by_a_set

_THE_LOOP = "the loop that it left"


@dataclass(frozen=True, slots=True)
class Turn:
    """Who entered something else, what that was and what the others did; the line that it goes back to, with words for
    it, and the condition of its branch. `site` is None where it is the line of the collective itself."""

    who: int
    entered: Collective
    expected: Collective
    site: Site | None = None
    words: str = ""
    condition: Site | None = None
    asks: str = "the condition of the branch"  # what that is


def turn_of(ranks: Ranks, parting: Parting) -> Turn:
    """Where the odd ones went another way, or, where they are as many as the others, these."""
    with ExitStack() as files:
        odd, usual = (met_at(ranks, parting, number, files) for number in (parting.odd[0], parting.others[0]))
        plain = Turn(odd.rank.rank, odd.collective, usual.collective)
        return (
            _called_unevenly(odd, plain, usual)
            or _forwards_apart(odd, plain, usual)
            or _left(odd, usual)
            or _left_loop(odd, usual)
            or _branched(odd, usual, parting)
            or _made(odd, plain, parting)
            or _received(odd, plain, usual, parting)
            or _skipped(odd, plain, usual, parting)
            or _ordered(odd, plain, usual, parting)
            or _handed(odd, plain, usual, parting)
            or plain
        )


def _called_unevenly(odd: Met, plain: Turn, usual: Met) -> Turn | None:
    """A step in which closures were called unequally often."""
    uneven = called_unevenly(odd.recording, usual.recording)
    if uneven is None:
        return None
    turn = replace(plain, words=f", since {WHY},", site=uneven.returned)
    return replace(turn, condition=uneven.step, asks="the step that called them")


def _forwards_apart(odd: Met, plain: Turn, usual: Met) -> Turn | None:
    """Where the forwards had gone apart, of two that are in one backward call and at one line of it."""
    both = odd.collective.inside and usual.collective.inside
    if not both or odd.collective.backward != usual.collective.backward or not same_way(odd.stack, usual.stack):
        return None
    apart = went_apart(odd.recording, usual.recording, odd.collective.backward)
    if apart is None:
        return None
    words = f", as their forwards had gone apart at line {apart.condition.line},"
    return replace(plain, words=words, site=apart.drawn or apart.condition, condition=apart.drawn and apart.condition)


def _left(odd: Met, usual: Met) -> Turn | None:
    """A step that a rank left, so that it has been ahead of the other since."""
    here, there = (odd, usual) if odd.rank.backwards < usual.rank.backwards else (usual, odd)
    site = left_step(here.recording, there.recording)
    if site is None:
        return None
    return Turn(here.rank.rank, here.collective, there.collective, site, f", {LEFT_STEP},")


def _left_loop(odd: Met, usual: Met) -> Turn | None:
    """A loop that a rank left, and the other goes on in."""
    if not odd.before or not same_way(odd.before, usual.before):
        return None
    for one, other in ((odd, usual), (usual, odd)):
        between = stacks_between(other.recording, *other.runs)
        left = left_loop(other.recording, other.before, other.stack, one.stack, between)
        if left is not None:
            words = f", when it had left the loop of line {left.loop.line},"
            alone = _alone_in(other, one) if left.decides == left.loop else None
            if alone is not None:
                return alone
            step = _skipped_step(one, other) if left.decides == left.loop else None
            if step is not None:
                return Turn(one.rank.rank, one.collective, other.collective, step, f", {LEFT_STEP},")
            fewer = yielded_less(one.recording, other.recording, left.loop) if left.decides == left.loop else None
            if fewer is not None:
                words = f"{words} for which fewer are yielded to it,"
                return Turn(one.rank.rank, one.collective, other.collective, fewer, words, left.loop, _THE_LOOP)
            part = part_of(other.recording, other.stack, left.loop) if left.decides == left.loop else None
            drawn = None if part is None else drawn_for_part(other.recording, part)
            site = drawn or part or left.decides
            words = words if drawn is None else f"{words[:-1]} {DRAWN},"
            loop = None if site == left.loop else left.loop
            return Turn(one.rank.rank, one.collective, other.collective, site, words, loop, _THE_LOOP)
    return None


def _alone_in(one: Met, other: Met) -> Turn | None:
    """A branch of a rank's own in the last trip of a loop that all ranks went through: not the loop is uneven."""
    branch = gone_into(texts_of(one, other), one.stack, one.before)
    return _turned(one, other, branch) if branch is not None else None


def _skipped_step(one: Met, other: Met) -> Site | None:
    """The way out of a step that a rank left before its backward, so that it came to the end of a loop while the other
    is in it: in its last trip, or both ran equally many backward calls; None where the other left one as well."""
    if one.rank.backwards != other.rank.backwards:
        return left_last_step(one.recording, other.recording)
    if steps_left(other.recording, one.recording):
        return None
    return next(iter(steps_left(one.recording, other.recording)), None)


def _branched(odd: Met, usual: Met, parting: Parting) -> Turn | None:
    """A branch that one took and the other passed by, and rather one that parts ranks in one trip; what most do is
    nobody's turn."""
    pairs = ((odd, usual), (usual, odd)) if len(parting.odd) == len(parting.others) else ((odd, usual),)
    begin_anew = not parting.at or are_in_one_trip(odd, usual)
    found: list[tuple[Met, Met, Branch]] = []
    for one, other in pairs:
        anew = begin_anew or (came_round(one, other) and not _steps_left_by_any(one, other))
        before = None if anew else one.before if same_way(one.before, other.before) else ()
        branch = passed_by(texts_of(one, other), one.stack, other.stack, before)
        if branch is not None:
            found.append((one, other, branch))
    by_more = [one for one in found if not goes_by_the_trip(texts_of(*one[:2]), one[0].stack, one[2].condition)]
    return next((_turned(*one) for one in by_more or found), None)


def _steps_left_by_any(one: Met, other: Met) -> bool:
    """Whether one of two ranks may be a trip ahead of the other, in which it ran no backward."""
    return any(steps_left(here.recording, there.recording) for here, there in ((one, other), (other, one)))


def _turned(one: Met, other: Met, branch: Branch) -> Turn:
    """That one of two ranks took a branch, and the line of it."""
    words = f", {'below' if branch.leaves else 'in'} a branch of line {branch.condition.line},"
    by_data = branch.parts or branch.leaves  # the rank that left is the one that all wait for
    texts = texts_of(one, other)
    by_data = by_data or goes_by_an_own_count(texts, one.stack, branch.condition)
    told = branch.condition if by_data and not branch.is_of_a_rank else branch.inside
    site = decided_at(texts, one.stack, branch.condition) or told
    condition = None if site == branch.condition else branch.condition
    return Turn(one.rank.rank, one.collective, other.collective, site, words, condition)


def _made(odd: Met, plain: Turn, parting: Parting) -> Turn | None:
    """Where the tensor was made that has another dtype in one and the same call."""
    dtypes = {tuple(one.dtype for one in each.types) for each in parting.entered.values()}
    if not parting.is_certain or len(dtypes) < 2:
        return None
    site = made_at(odd.recording, odd.stack)
    return None if site is None else replace(plain, site=site)


def _received(odd: Met, plain: Turn, usual: Met, parting: Parting) -> Turn | None:
    """Where a rank makes what it receives into, of another size than the root sends."""
    if not parting.is_certain or not same_way(odd.stack, usual.stack):
        return None
    found = made_to_receive(odd, usual)
    if found is None:
        return None
    one, other = (odd, usual) if found[0] is odd else (usual, odd)
    words = f", which line {found[1].line} makes,"
    return replace(
        plain, who=one.rank.rank, entered=one.collective, expected=other.collective, words=words, site=found[1]
    )


def _skipped(odd: Met, plain: Turn, usual: Met, parting: Parting) -> Turn | None:
    """The condition by which ranks leave other trips of a loop out, where they meet at one line and had done so."""
    site = odd.collective.site
    if site is None or not parting.is_certain or not same_way(odd.stack, usual.stack):
        return None
    if not all(has_met_there(one.recording, site) for one in (odd, usual)):
        return None  # they may have had other tensors from the start
    found = left_out_by(odd.recording, odd.stack) or left_out_by(usual.recording, usual.stack)
    if found is None:
        return None
    return replace(plain, site=found, words=f", by what line {found.line} lets through,")


def _ordered(odd: Met, plain: Turn, usual: Met, parting: Parting) -> Turn | None:
    """The loop that goes by the order of a set, where ranks are at one line with tensors of other sizes."""
    if not parting.is_certain or not same_way(odd.stack, usual.stack):
        return None
    found = goes_by_a_set(texts_of(odd, usual), odd.stack)
    return None if found is None else replace(plain, site=found, words=f", {BY_A_SET},")


def _handed(odd: Met, plain: Turn, usual: Met, parting: Parting) -> Turn | None:
    """Who gives a helper of several callers a tensor of another size than other ranks do."""
    if not parting.is_certain or not same_way(odd.stack, usual.stack):
        return None
    if not (has_met(odd) or has_met(usual)):
        return None  # the helper may be wrong for all that call it
    site = handed_by(odd.recording, odd.stack) or handed_by(usual.recording, usual.stack)  # one may have been killed
    return None if site is None else replace(plain, words=f", as line {site.line} calls it,", site=site)
