"""GS790 and GS791: ranks that do not meet, because their collectives differ or because one does not come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.rank import Collective, Rank, State
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.words import named
from gradscope.ranks.meeting.crossing import crossed_by
from gradscope.ranks.meeting.grouping import made_by_some
from gradscope.ranks.meeting.leaving import left
from gradscope.ranks.meeting.left_out import wrapped_at
from gradscope.ranks.meeting.parting import Parting, circle_of, first_parting
from gradscope.ranks.meeting.raised import raised_by
from gradscope.ranks.meeting.turning import turn_of
from gradscope.store.reader import load

_MOST_RELATED = 16


def mismatched(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Ranks that entered different collectives at the same place of their group's sequence, or that wait for each
        other in collectives of different groups, where the run then hung or failed; tensors of another size or dtype
        in one and the same collective, whatever came of it.
    Why:
        A collective is one call of all ranks of a group. When one rank enters another collective, or the same one once
        more or with another tensor or root, it is matched with what the others enter next: the run hangs, fails far
        away, or adds up what does not belong together.
    Wrong:
        if rank == 0:
            dist.all_reduce(total)
    Right:
        dist.all_reduce(total)
        if rank == 0:
            print(total)
    Do instead:
        Let every rank of the group enter the same collectives in the same order, with tensors of one size and dtype;
        only what comes after may differ.
    How it is found:
        The operators, sizes, dtypes and lines of the collectives of all ranks of each process group, one after the
        other. The first place at which they differ is told when at least one rank failed or was killed soon after it; a
        circle of ranks, each of which waits for the next one, is told as well, by the branch that one of them took, or
        its condition, where that is one of data. The line is that by which a closure returns its loss, where a step
        called those of two ranks unequally often; inside of a backward, the condition by which the forwards went apart,
        or what was drawn for it; the way out of a step that one rank left before a backward which the other ran, and
        not of a loop in what a step calls; that by which it left a loop in which the other goes on, and has not begun
        it anew: the way out of a step that it left in it, where the flag is set that the loop asks for, or what is
        called that sets it by what it is given, the condition of its one way out, that by which a generator yields
        fewer than it took, the line that takes a rank's part of
        what the loop goes through, in the sampler or dataset of a loader too, there the bound that ends it early,
        whatever holds it, or that draws what this is a part of by a seed of the rank's own, where how long it becomes
        goes by the order, else the line that builds this, or by which a generator yields more or less, or that makes
        its list, else the loop; the loop as well where the part was packed by a function, or filtered; the call under a
        condition, where the other rank was below it in the same function, past which it came since they met there, or
        came round to a line above it, which by their backward calls ranks in one trip of a loop did not; or that
        condition, where it asks for what is counted under another one; the condition of data in whose other arm the
        other rank was; the line that measures what this condition asks for, or asks a rank's own disk or clock for it;
        the assignment that made a tensor of another dtype, or, on a rank that receives, the room for what a root
        broadcasts; the one condition by which trips of a loop are left out, where ranks come to one line with tensors
        of other sizes, and had met there before; there too the loop that goes by the order of a set, or what makes a
        list by it; the line that hands a helper of several callers, which had met others before, what it sends; else
        that of the collective.
    """
    parting = first_parting(ranks)
    if parting is not None:
        yield _parted(ranks, parting)
        return
    circle = circle_of(ranks)
    if circle:
        yield _crossed(ranks, circle)


def _parted(ranks: Ranks, parting: Parting) -> Blame:
    turn = turn_of(ranks, parting)
    odd, others = (parting.odd, parting.others) if turn.who in parting.odd else (parting.others, parting.odd)
    other, expected = turn.entered, turn.expected
    first, second = _told(other, expected), _told(expected, other)
    members = parting.key[1]
    group = "the run" if len(ranks.ranks) == len(members) else f"the group of {named(list(members))}"
    condition = (Related("cause_at", turn.condition, turn.asks),) if turn.condition else ()
    return Blame(
        f"{named(odd)} entered {first}{turn.words} where {_others(len(others))} entered {second}: "
        f"collective {parting.at + 1} of {group}",
        turn.site or other.site,
        (
            *condition,
            Related("cause_at", expected.site, f"what the others entered: {expected.name}"),
            *_waiting(ranks, odd),
        ),
        operator=other.operator,
        backward=other.backward if other.inside else None,
    )


def _told(one: Collective, other: Collective) -> str:
    """A collective with what tells it from another."""
    if one.name != other.name or one.must_agree == other.must_agree:
        return f"{one.name}{_at(one)}"
    root = "" if one.peer == other.peer else f" with rank {one.peer} as its root"
    return f"{one.name}{root or f' with {one.tensors}'}{_at(one)}"


def _crossed(ranks: Ranks, circle: list[Rank]) -> Blame:
    told = [f"rank {one.rank} in {_met_in(one)} for {named(list(one.missing or ()))}" for one in circle[:_MOST_RELATED]]
    first, branch = crossed_by(circle) or (circle[0], None)
    asks = branch is not None and not branch.is_of_a_rank  # what a condition of data leaves out, all should run
    condition = (Related("cause_at", branch.condition, "the condition of the branch"),) if branch and not asks else ()
    came = "" if branch is None else f", as rank {first.rank} went into a branch of line {branch.condition.line}"
    return Blame(
        f"each waits for the other{came}: {', '.join(told)}",
        branch.condition if branch is not None and asks else first.place,
        (*condition, *_waiting(ranks, [first.rank])),
        operator=first.last,
        backward=None if first.collective is None else first.collective.backward,
    )


def _met_in(one: Rank) -> str:
    last = one.collective
    if last is None:
        return "a collective"
    return last.name if last.between_two or last.group is None else f"{last.name} of group {last.group.name}"


def stopped(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A rank that raised, was killed, hangs or ended early, while other ranks wait for it in a collective.
    Why:
        The other ranks fail or hang in a collective whose line is innocent, often minutes later, and what they print
        is about a closed connection or a timeout. The rank to look at is the one that did not come.
    Wrong:
        if rank == 1:
            raise ValueError("bad sample")
    Right:
        sample = next(samples, None) or placeholder
    Do instead:
        Look at the line where this rank stopped; the lines where the others wait are not to blame.
    How it is found:
        How each rank ended, the collectives that it had entered, and the line at which its main thread stood when its
        recording was written to last; of one that ended, the loop that it left while another rank went on in it, the
        one line that may end this early, or the condition by which a generator gave it fewer than it took, or the
        way out of a step that it took before a backward which the other ran, or the condition of the rank under which
        the other one still meets it; of one in which the wrapper's hook ran twice for a parameter, the line that calls
        the module inside as well, or whose node runs a backward of its own, as that of a reentrant checkpoint does; of
        one in which the wrapper missed gradients, the branch that left these parameters out, the one condition or
        shortened loop by which a trip was, where layers run by one line, or the line that puts another layer in the
        place of theirs after the wrap, that builds their layer, where nothing ran in it, or that wraps the model, of
        which forwards choose among layers, or a loss leaves out what they give, by other than one condition, which is
        told itself; of one that found no file, the line by which another one had removed it, or by which each rank
        makes the name of it by its own clock, to the second, where one alone fills it; of one that waits in
        new_group(), the condition of the rank under which it alone came there; of one whose model the wrapper refused
        as another one, the line that computes what the model is built with; of one that raised in a collective that had
        met others for another caller, the line of this caller; of any other that all ranks raised, what `gradscope
        explain` says of it. Exceptions about lost peers are taken as consequences.
    """
    others = {one.rank for one in ranks.ranks if one.state in (State.LOST, State.KILLED) and one.waits}
    culprits = _culprits(ranks.ranks)
    if not culprits:
        return
    first = min(culprits, key=lambda one: (one.started + one.seconds, one.rank))
    waiting = _waiting(ranks, [first.rank])
    if len(ranks.ranks) < 2 or (not others - {first.rank} and first.state is not State.RAISED):
        return
    stay = others - {first.rank}
    how, site = _goes_back(ranks, first) or ("", first.place)
    wrapped = wrapped_at(ranks, first, site) if site is not None else ()
    yield Blame(
        f"rank {first.rank} {_did(first)}{how and f', {how}'}{f', while {_wait_words(stay)}' if stay else ''}",
        site,
        (*wrapped, *waiting),
        certain=first.state is State.RAISED,
        backward=None if first.collective is None else first.collective.backward,
        operator=first.last if first.state is not State.RAISED else None,
    )


def _goes_back(ranks: Ranks, one: Rank) -> tuple[str, Site] | None:
    """What it goes back to that a rank stopped, and the line; None where that is the line at which it did."""
    if one.state is not State.RAISED:
        return left(ranks, one) or _hangs_in_a_group(ranks, one)
    known = raised_by(ranks, one)
    if known is not None or any(other.exception != one.exception for other in ranks.ranks):
        return known  # what all ranks build alike is not why one of them raises
    told = ((f"that is: {found.message}", found.site) for found in ranks.failed(one.path) if found.site is not None)
    return next(told, None)


def _hangs_in_a_group(ranks: Ranks, one: Rank) -> tuple[str, Site] | None:
    with load(Path(one.path)) as recording:
        return made_by_some(ranks, one, recording)


def _culprits(ranks: list[Rank]) -> list[Rank]:
    """The ranks that stopped by themselves."""
    raised = [one for one in ranks if one.state is State.RAISED]
    if raised:
        return raised
    away = [one for one in ranks if one.state is State.KILLED and not one.waits]
    if away:
        return away
    waited_for = {number for one in ranks if one.waits for number in one.missing or ()}
    if waited_for:
        return [one for one in ranks if one.state is State.DONE and one.rank in waited_for]
    if any(one.waits for one in ranks):
        most = max(one.collectives for one in ranks)
        return [one for one in ranks if one.state is State.DONE and one.collectives < most]
    return []


def _did(one: Rank) -> str:
    if one.state is State.RAISED:
        return f"raised {(one.exception or '').rstrip('.')}"
    if one.state is State.DONE:
        return f"ended after {one.collectives:,} collectives"
    where = "" if one.at is None else f" at line {one.at.line}"
    last = f"; its last operator was {one.last}" if one.last else ""
    return f"was killed, or hangs{where}{last}"


def _wait_words(numbers: set[int]) -> str:
    return f"{named(sorted(numbers))} wait{'s' if len(numbers) == 1 else ''} in a collective"


def _waiting(ranks: Ranks, but: list[int]) -> tuple[Related, ...]:
    """Where the other ranks are, each line once."""
    by_place: dict[tuple[str, str], list[Rank]] = {}
    for one in ranks.ranks:
        if one.rank in but or one.state is State.DONE:
            continue
        what = f"in {one.collective.words}" if one.waits and one.collective is not None else one.state.value
        by_place.setdefault((what, str(one.place)), []).append(one)
    found = [
        Related("fails_at", those[0].place, f"{named([one.rank for one in those])}: {what}")
        for (what, _), those in by_place.items()
    ]
    return tuple(found[:_MOST_RELATED])


def _at(collective: Collective) -> str:
    if collective.inside:
        return f" in backward {collective.backward}"
    return f" at line {collective.site.line}" if collective.site is not None else ""


def _others(count: int) -> str:
    return "the other" if count == 1 else f"the other {count}"
