"""What a collective that does not match goes back to: a step that a rank left, a branch that it took, a dtype."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from gradscope.model.rank import Collective, Rank
from gradscope.model.site import Site, Stack
from gradscope.ranks.given import made_at
from gradscope.ranks.known import Ranks
from gradscope.ranks.leaving import LEFT_STEP, left_step
from gradscope.ranks.loops import left_loop, same_way
from gradscope.ranks.parting import Parting
from gradscope.ranks.passing import passed_by
from gradscope.store.collective_reader import read_place
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import Recording, load


@dataclass(frozen=True, slots=True)
class Met:
    """A rank at a place of its group's sequence, what it entered there, and under which stack; `before`: that of what
    it had entered before."""

    rank: Rank
    recording: Recording
    collective: Collective
    stack: Stack
    before: Stack


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


def turn_of(ranks: Ranks, parting: Parting) -> Turn:
    """Where the odd ones went another way, or, where they are as many as the others, these."""
    with ExitStack() as files:
        odd, usual = (_met(ranks, parting, number, files) for number in (parting.odd[0], parting.others[0]))
        plain = Turn(odd.rank.rank, odd.collective, usual.collective)
        return (
            _left(odd, usual)
            or _left_loop(odd, usual)
            or _branched(odd, usual, parting)
            or _made(odd, plain, parting)
            or plain
        )


def _met(ranks: Ranks, parting: Parting, number: int, files: ExitStack) -> Met:
    rank = ranks.rank(number)
    recording = files.enter_context(load(Path(rank.path)))
    with damage_is_one_sentence(recording.path):
        tables = recording.tables
        place, before = (
            read_place(tables.rows, tables.interned, parting.key, at) for at in (parting.at, parting.at - 1)
        )
    stack, backward = place or ((), None)
    collective = parting.entered[number]
    return Met(
        rank,
        recording,
        collective if backward is None else replace(collective, backward=backward),
        stack,
        before[0] if before else (),
    )


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
        left = left_loop(other.recording, other.before, other.stack, one.stack)
        if left is not None:
            words = f", when it had left the loop of line {left.loop.line},"
            condition = None if left.decides == left.loop else left.loop
            return Turn(one.rank.rank, one.collective, other.collective, left.decides, words, condition)
    return None


def _branched(odd: Met, usual: Met, parting: Parting) -> Turn | None:
    """A branch that one took and the other passed by; what most do is nobody's turn."""
    pairs = ((odd, usual), (usual, odd)) if len(parting.odd) == len(parting.others) else ((odd, usual),)
    for one, other in pairs:
        branch = passed_by(one.recording, one.stack, other.stack)
        if branch is not None:
            words = f", in a branch of line {branch.condition.line},"
            return Turn(one.rank.rank, one.collective, other.collective, branch.inside, words, branch.condition)
    return None


def _made(odd: Met, plain: Turn, parting: Parting) -> Turn | None:
    """Where the tensor was made that has another dtype in one and the same call."""
    dtypes = {tuple(one.dtype for one in each.types) for each in parting.entered.values()}
    if not parting.is_certain or len(dtypes) < 2:
        return None
    site = made_at(odd.recording, odd.stack)
    return None if site is None else replace(plain, site=site)
