"""GS792 to GS794: ranks that meet and yet do not train one model on all of the data."""

from __future__ import annotations

import math
from collections.abc import Iterator

from gradscope.model.finding import Related
from gradscope.model.rank import Rank, Weights
from gradscope.ranks.gather import Ranks
from gradscope.ranks.kind import Blame
from gradscope.ranks.stopped import named

_LOSSES = 3  # of one run, at least, that are the same on two ranks to the last bit
_NOISE = 1e-6  # relative: sums on several devices differ in their last bits


def drifted(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Replicas of one model whose parameters were equal at the first backward and are not any more.
    Why:
        Data-parallel training keeps one model in many copies only as long as every copy makes the same steps. A wrapper
        that is bypassed, a no_sync() that is never left, a parameter that was unfrozen after the wrap, other learning
        rates: each rank then trains a model of its own, and only rank 0's is saved.
    Wrong:
        loss = model.module(x).sum()
    Right:
        loss = model(x).sum()
    Do instead:
        Call the wrapper itself, leave no_sync() before the last backward of a step, and wrap after freezing.
    How it is found:
        The norms of all parameters, measured at the backward calls 0, 1, 2, 4, 8, ...: the same names on all ranks,
        equal on all at the first look, different at a later one by more than rounding explains.
    """
    looks = sorted(ranks.weights)
    if len(looks) < 2 or len(ranks.weights[looks[0]]) != 1:
        return
    (all_ranks,) = ranks.weights[looks[0]].values()
    if len(all_ranks) < 2:
        return
    for backward in looks[1:]:
        groups = ranks.weights[backward]
        told = [ranks.first_weights[backward, content] for content in groups]
        apart = _first_apart(told)
        if apart is None:
            continue
        name, values = apart
        usual = max(groups.values(), key=lambda members: (len(members), -members[0]))
        odd = sorted(number for members in groups.values() if members is not usual for number in members)
        yield Blame(
            f"{name} is not the same on all ranks before backward {backward}: {named(odd)} went another way "
            f"(norms {', '.join(sorted(set(values))[:3])}); at the first backward all parameters were equal",
            None,
            certain=False,
            backward=backward,
            tensor=name,
        )
        return


def _first_apart(told: list[Weights]) -> tuple[str, list[str]] | None:
    """The first parameter whose norm differs, where all have the same parameters."""
    if len({tuple(name for name, _ in one.norms) for one in told}) != 1:
        return None
    for column in zip(*(one.norms for one in told), strict=True):
        values = [float(value) for _, value in column]
        if not all(map(math.isfinite, values)):
            return None  # what is not finite has a cause of its own
        if max(values) - min(values) > _NOISE * max(values):
            return column[0][0], [f"{value:.6g}" for value in values]
    return None


def nonfinite(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        A loss that becomes NaN or Inf on some ranks before it does on the others.
    Why:
        The next all_reduce spreads it to every rank, so that all of them look guilty. The sample, the shard or the
        branch that made it is that of the first.
    Wrong:
        loss = criterion(model(x).log(), y)
    Right:
        loss = criterion(model(x).clamp_min(eps).log(), y)
    Do instead:
        Mend the line on that rank; `gradscope explain` on its recording tells more.
    How it is found:
        The first backward of each rank whose root was not finite, and the operator that gave the first such value.
    """
    bad = [one for one in ranks.ranks if one.nonfinite is not None]
    if not bad or len(ranks.ranks) < 2:
        return
    first = min(one.nonfinite for one in bad if one.nonfinite is not None)
    early = [one for one in bad if one.nonfinite == first]
    reached = [one for one in ranks.ranks if one.backwards > first]
    if len(early) == len(reached):
        return
    born = next((one for one in early if one.born is not None), early[0])
    by = f", from {born.born_by}" if born.born_by else ""
    yield Blame(
        f"the loss of {named([one.rank for one in early])} is not finite in backward {first}{by}; "
        "those of the other ranks are",
        born.born,
        _later(bad, early),
        backward=first,
        operator=born.born_by,
    )


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
        where DistributedDataParallel averages the gradients.
    """
    for losses, numbers in ranks.losses.items():
        reduced = [number for number in numbers if ranks.rank(number).reduced]
        values = {value for _, value in losses}
        if len(reduced) > 1 and len(losses) >= _LOSSES and len(values) >= _LOSSES and not values & {"nan", "inf"}:
            yield Blame(
                f"{named(sorted(reduced))} compute the same losses in all of {len(losses):,} backward calls: "
                "they see the same data",
                None,
                certain=False,
                backward=losses[0][0],
            )
