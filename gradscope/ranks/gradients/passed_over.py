"""Backward calls whose gradients all ranks cleared without a step: together they saw that something was not finite."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gradscope.model.rank import Rank
from gradscope.model.training import GAP, SCALED_STEP, STEP, ZERO_GRAD, TrainingCall
from gradscope.ranks.core.known import Ranks
from gradscope.store.reader import Recording, load


def with_what_did_harm(ranks: Ranks) -> list[Rank]:
    """The ranks that had a loss that was not finite, each with the first of which not all ranks left the step out."""
    bad = [one for one in ranks.ranks if one.nonfinite is not None]
    soonest = sorted(ranks.ranks, key=lambda one: one.nonfinite is None)  # those that know best are asked first
    while bad:
        first = min(one.nonfinite for one in bad if one.nonfinite is not None)
        if not all(_left_out(Path(one.path), first) for one in soonest):
            break
        bad = [later for one in bad if (later := _behind(one, first)).nonfinite is not None]
    return bad


def _left_out(path: Path, backward: int) -> bool:
    """Whether a rank cleared what a backward gave without a step, and stepped again after that."""
    with load(path) as recording:
        kinds = [call.kind for call in _calls_after(recording, backward)]
    cleared = kinds.index(ZERO_GRAD) if ZERO_GRAD in kinds else len(kinds)
    return not {STEP, SCALED_STEP, GAP} & set(kinds[:cleared]) and STEP in kinds[cleared:]


def _calls_after(recording: Recording, backward: int) -> Iterator[TrainingCall]:
    """By what a thread trained after a backward call."""
    thread: int | None = None
    for interval in recording.intervals():
        if interval.thread == thread:
            yield from interval.calls
        if interval.backward == backward:
            thread = interval.thread


def _behind(one: Rank, backward: int) -> Rank:
    """A rank with its next loss that was not finite after a backward call."""
    if one.nonfinite is None or one.nonfinite > backward:
        return one
    with load(Path(one.path)) as recording:
        births = {birth.number: birth for birth in recording.births()}
        arrivals = (each for each in recording.arrivals() if each.leaf is None and each.backward > backward)
        found = min(arrivals, key=lambda each: each.backward, default=None)
    born = None if found is None or found.birth is None else births.get(found.birth)
    return replace(
        one,
        nonfinite=None if found is None else found.backward,
        born=None if born is None else born.site,
        born_by=None if born is None else born.op,
    )
