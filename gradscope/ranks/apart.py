"""GS793 and GS794: one rank's NaN, and ranks that see the same data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.finding import Confidence, Related
from gradscope.model.operation import base_name
from gradscope.model.rank import Rank
from gradscope.model.site import Site
from gradscope.ranks.born_in_backward import born_in_backward
from gradscope.ranks.given import origin_of
from gradscope.ranks.halved import summed_in_half
from gradscope.ranks.kind import Blame
from gradscope.ranks.known import Ranks, Told
from gradscope.ranks.scaled import decided_apart
from gradscope.ranks.seeded_streams import stream_seeded_at
from gradscope.ranks.sent_checks import sent_check
from gradscope.ranks.spread import source_of
from gradscope.ranks.stopped import named
from gradscope.ranks.ways import meets_before_the_loss
from gradscope.store.averaging_reader import read_first_forward
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.reader import load

_FORMS = frozenset(
    ("transpose", "t", "permute", "view", "reshape", "squeeze", "unsqueeze", "expand", "clone", "detach")
)
_LOSSES = 3  # of one run, at least, that are the same on two ranks to the last bit


def nonfinite(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A loss that becomes NaN or Inf on some ranks before it does on the others, in another step or in the same one;
        or on all of them in the same step and by the same line. Also gradients that do, where no loss ever does.
    Why:
        The next all_reduce spreads it to every rank, so that all of them look guilty. The sample, the shard or the
        branch that made it is that of the first.
    Wrong:
        loss = criterion(model(x).log(), y)
    Right:
        loss = criterion(model(x).clamp_min(eps).log(), y)
    Do instead:
        Mend the line on that rank; `gradscope explain` on its recording tells more. Let all ranks go by what any of
        them finds: reduce it over the ranks, and do not send what one of them found.
    How it is found:
        The first backward of each rank whose root was not finite, and the operator that gave the first such value.
        Where a rank made a step of a GradScaler that another one left out, after it had looked for infinite gradients
        and before these were averaged, the line is that of the look; where a check of the loss, or of data that were
        not finite before the model was given them, is sent to all by a rank that had none, it is the line that sends
        it; else that which `gradscope explain` names. Of a value that all ranks have in one step: the rank that had it
        before a collective after which the others had it. Where ranks have other numbers of samples and such a number,
        times the number of ranks, divides a sum over all, the line is that of the number. Where all ranks have it from
        one operator and line, the line is that which `gradscope explain` names for the first, that of a training which
        diverges among them; where an optimizer was the first to read NaN, after gradients were summed in float16, that
        which makes what is summed.
    """
    bad = [one for one in ranks.ranks if one.nonfinite is not None]
    if len(ranks.ranks) < 2:
        return
    if not bad:
        if (found := born_in_backward(ranks)) is not None:
            yield found
        return
    first = min(one.nonfinite for one in bad if one.nonfinite is not None)
    early = [one for one in bad if one.nonfinite == first]
    reached = [one for one in ranks.ranks if one.backwards > first]
    if len(early) == len(reached):
        found = _spread(early, first) or _in_all(ranks, early, first)
        if found is not None:
            yield found
        return
    born = next((one for one in early if one.born is not None), early[0])
    by = f", {_from(born.born_by)}" if born.born_by else ""
    decided = _decided(early[0], next(one for one in reached if one not in early), first) or _sent(ranks, born, first)
    why, site = decided or ("", _explained(ranks, born, first) or born.born)
    yield Blame(
        f"the loss of {named([one.rank for one in early])} is not finite in backward {first}{by}; "
        f"those of the other ranks are{why and f': {why}'}",
        site,
        _later(bad, early),
        backward=first,
        operator=born.born_by,
    )


def _from(operator: str) -> str:
    """How an operator that gave the first such value is told: one that gives numbers another form made none."""
    gives_form = base_name(operator).rstrip("_") in _FORMS
    return f"first seen in what {operator} gives another form" if gives_form else f"from {operator}"


def _explained(ranks: Ranks, one: Rank, backward: int) -> Site | None:
    """The line that is found in the recording of a rank for what was born in it."""
    told = ranks.explained(one.path) if one.born is not None else ()
    return next((each.site for each in told if (each.backward, each.op) == (backward, one.born_by)), None)


def _spread(ranks: list[Rank], backward: int) -> Blame | None:
    """That one of several ranks, which all had it in one backward call, gave it to the others."""
    found = source_of(ranks, backward)
    if found is None:
        return None
    one, birth = found.rank, found.birth
    why = "" if found.counts is None else ", where its own number of samples was taken for that of each"
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}: {birth.op} gave the first such value on "
        f"{named([one.rank])}{why}, and a collective gave it to the others",
        found.counts or birth.site,
        () if found.counts is None else (Related("born_at", birth.site, f"{birth.op} on rank {one.rank}"),),
        backward=backward,
        operator=birth.op,
    )


def _in_all(ranks: Ranks, early: list[Rank], backward: int) -> Blame | None:
    """That all ranks had it from one operator, by themselves: as is found in the recording of the first."""
    if len(early) < 2 or len({(str(one.born), one.born_by) for one in early}) > 1:
        return None
    told = next((one for one in ranks.explained(early[0].path) if one.backward == backward), None)
    if told is None or told.site is None:
        return _in_half(ranks, early[0], backward)
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}, on each by itself; of rank {early[0].rank}: "
        f"{told.message}",
        told.site,
        told.related,
        certain=told.confidence is Confidence.CERTAIN,
        backward=backward,
        operator=told.op,
        tensor=told.tensor,
    )


def _in_half(ranks: Ranks, one: Rank, backward: int) -> Blame | None:
    """That all ranks may have it from gradients that were summed in float16."""
    with load(Path(one.path)) as recording:
        site = summed_in_half(ranks, recording, backward)
    if site is None:
        return None
    return Blame(
        f"the loss of all ranks is not finite in backward {backward}, after an optimizer read NaN from a gradient: "
        "gradients are summed over the ranks in float16 before that, whose largest number is 65,504",
        site,
        certain=False,
        backward=backward,
    )


def _decided(one: Rank, other: Rank, backward: int) -> Told | None:
    """Why one of two ranks made a step just before a backward that the other left out."""
    with load(Path(one.path)) as here, load(Path(other.path)) as there:
        return decided_apart((one, here), (other, there), backward)


def _sent(ranks: Ranks, one: Rank, backward: int) -> Told | None:
    """Why a check for what is not finite let a backward of a rank through: it goes by another rank's answer."""
    with load(Path(one.path)) as recording, damage_is_one_sentence(recording.path):
        found = sent_check(ranks, one, recording, backward)
    if found is None:
        return None
    return f"of the check for such values, what rank {found.root} finds is sent to all", found.site


def _later(bad: list[Rank], early: list[Rank]) -> tuple[Related, ...]:
    later = [one for one in bad if one not in early]
    if not later:
        return ()
    soonest = min(one.nonfinite for one in later if one.nonfinite is not None)
    return (Related("first_nonfinite_at", None, f"{named([one.rank for one in later])}: from backward {soonest} on"),)


def same_data(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas under DistributedDataParallel that compute the same losses from step to step, to the last bit.
    Why:
        Each rank is there to see other samples. When all see the same, the run costs as many times as much and learns
        what one process would.
    Wrong:
        loader = DataLoader(data, batch_size=8, shuffle=True)
    Right:
        loader = DataLoader(data, batch_size=8, sampler=DistributedSampler(data))
    Do instead:
        Give each rank its own part: a DistributedSampler with set_epoch(), or seeds that depend on the rank.
    How it is found:
        The losses of at least three backward calls, which change from call to call and are equal on several ranks,
        between which DistributedDataParallel averages the gradients: ranks of one tensor-parallel group may see the
        same. Silent where ranks exchange something between model and loss, as a loss over the features of all does.
        The line is where the data of the first call of the model come from, by the names in the source: the
        loader, the stream that it reads, the sampler, or the seed of what is drawn, also by the generator of a stream
        of the program's own.
    """
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
