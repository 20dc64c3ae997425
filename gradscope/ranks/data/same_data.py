"""GS794: ranks that see the same data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.words import named
from gradscope.ranks.data.same_later import same_later
from gradscope.ranks.data.seeded_streams import stream_seeded_at
from gradscope.ranks.source.given import origin_of
from gradscope.ranks.source.ways import meets_before_the_loss
from gradscope.store.averaging_reader import read_first_forward
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import load

_LOSSES = 3  # of one run, at least, that are the same on two ranks to the last bit


def same_data(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas under DistributedDataParallel that compute the same losses from step to step, to the last bit; replicas
        that do so from some step on, after each had losses of its own.
    Why:
        Each rank is there to see other samples. When all see the same, the run costs as many times as much and learns
        what one process would. So it is when a run is carried on, and all ranks restore the random state of one.
    Wrong:
        loader = DataLoader(data, batch_size=8, shuffle=True)
    Right:
        loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    Do instead:
        Give each rank its own part: a DistributedSampler with set_epoch(), or seeds that depend on the rank.
        Save and restore the random state of each rank in a file of its own.
    How it is found:
        The losses of at least three backward calls, which change from call to call and are equal on several ranks,
        between which DistributedDataParallel averages the gradients: ranks of one tensor-parallel group may see the
        same. Silent where ranks exchange something between model and loss, as a loss over the features of all does. The
        line is where the data of the first call of the model come from, by the names in the source: the loader, the
        stream that it reads, the sampler, or the seed of what is drawn, also by the generator of a stream of the
        program's own. Of ranks that average gradients, through the wrapper or by hand, and whose losses were not equal
        at any backward before one, and are at each of at least eight from there on, in which they step and average: the
        only line that restores a random state; else the last before the first of these draws its data that seeds
        torch's random numbers by no number of the rank, or restores them, unless it was over before that; else the one
        that makes such a stream by no number of the rank, where others do, or the loader, or that draws. As a hint,
        where torch draws nothing; silent where nothing restores either, and where ranks exchange something before they
        have these losses.
    """
    yield from _from_the_start(ranks)
    for later in same_later(ranks):
        yield Blame(
            f"{named(list(later.members))} compute the same losses in all of {later.count:,} backward calls from "
            f"{later.backward:,} on, and in none before: since then they see the same data",
            later.site,
            certain=False,
            backward=later.backward,
            meant=later.meant,
        )


def _from_the_start(ranks: Ranks) -> Iterator[Blame]:
    """Ranks that never saw anything else."""
    for losses, numbers in ranks.losses.items():
        values = {value for _, value in losses}
        if len(losses) < _LOSSES or len(values) < _LOSSES or values & {"nan", "inf"}:
            continue
        for reduced in _averaged(ranks, numbers):
            site, meets = _given(ranks.rank(reduced[0]))
            if meets:
                continue
            yield Blame(
                f"{named(reduced)} compute the same losses in all of {len(losses):,} backward calls: "
                "they see the same data",
                site,
                certain=False,
                backward=losses[0][0],
            )


def _given(one: Rank) -> tuple[Site | None, bool]:
    """The line that the data of a rank go back to, and whether it exchanges something before it has its loss."""
    with load(Path(one.path)) as recording, damage_is_one_sentence(recording.path):
        stack = read_first_forward(recording.tables.rows, recording.tables.interned)
        site = stream_seeded_at(recording, stack) or origin_of(recording, stack)
        return site, meets_before_the_loss(recording)


def _averaged(ranks: Ranks, numbers: list[int]) -> list[list[int]]:
    """Those of some ranks, each only once, between which DistributedDataParallel averages gradients."""
    found: list[list[int]] = []
    groups = {ranks.averaging[number].group for number in numbers} - {None}
    for key in groups:
        members = sorted(number for number in numbers if ranks.averaging[number].group == key)
        if len(members) > 1 and members not in found:
            found.append(members)
    return sorted(found)
