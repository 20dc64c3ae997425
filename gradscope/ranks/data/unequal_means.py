"""GS924: samples without a mean that ranks made of their own means, each of which weighs alike whatever it is of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.alike_means import AlikeMean, alike_means
from gradscope.store.reader import load

_MOST = 8  # ranks: each is read
_STEPS = 2  # at least
_TIMES = 1.5  # as many: less is the rest of a batch, say

_Counts = dict[int, list[int]]  # by step: of how many numbers each mean is, in order


@dataclass(frozen=True, slots=True)
class _Unlike:
    """The ranks with the most and the fewest numbers in their means, and how many times as many there are."""

    most: int
    least: int
    times: float


def unequal_means(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Samples that are normalised by a mean over ranks which is the mean of the ranks' own means, where one rank has
        one and a half times as many samples in its own as another, or more.
    Why:
        The mean of means is that of all samples only where all ranks have as many. Otherwise a sample of the rank that
        has few of them weighs more: batches are shifted by a mean that none of them has, and scaled by a variance that
        is too large or too small. On a single rank the same model would be another one.
    Wrong:
        moments = torch.stack([x.mean(0), x.square().mean(0)])
        mean, square = sum_over_ranks(moments) / world_size
    Right:
        sums = torch.stack([x.sum(0), x.square().sum(0), torch.full_like(x[0], len(x))])
        total, squares, count = sum_over_ranks(sums)
        mean, square = total / count, squares / count
    Do instead:
        Sum the samples and their number over the ranks, and divide the one by the other.
    How it is found:
        A hint, since each rank may be meant to weigh the same. The way of tensors through operators, of up to eight
        ranks: means of a tensor, of torch's and with nothing multiplied since, that a collective sums, or gathers and a
        sum or mean puts together, without any weights; what comes of it, scaled by nothing but numbers, is taken off of
        that very tensor, or given to a batch norm with it. In two steps or more, and for each mean that the line takes
        in all of them, the tensor of one rank has one and a half times as many numbers in each as that of another.
    """
    if not 1 < len(ranks.ranks) <= _MOST or not any(one.name.startswith("all") for one in ranks.collectives):
        return
    taken: dict[int, list[AlikeMean]] = {}
    for one in ranks.ranks:
        with load(Path(one.path)) as recording:
            taken[one.rank] = list(alike_means(recording))
    told: set[Site] = set()
    for mean in taken[ranks.ranks[0].rank]:
        unlike = None if mean.site in told else _unlike(taken, mean)
        if unlike is not None:
            told.add(mean.site)
            yield _blame(mean, unlike)


def _blame(mean: AlikeMean, unlike: _Unlike) -> Blame:
    return Blame(
        f"the mean of {len(mean.members):,} ranks' own means is taken off of their samples, and rank {unlike.most} has "
        f"at least {unlike.times:.1f} times as many of these as rank {unlike.least}: unless each rank is meant to "
        "weigh the same, this is not the mean of all samples",
        mean.site,
        (Related("cause_at", mean.takes_off, "where it is taken off"),),
        meant=True,
    )


def _unlike(taken: dict[int, list[AlikeMean]], mean: AlikeMean) -> _Unlike | None:
    """Which ranks of a group have much unlike numbers in the means that a line takes, in all steps that are known."""
    counts = {number: _counts(taken[number], mean) for number in mean.members if number in taken}
    steps = set.intersection(*(set(each) for each in counts.values())) if len(counts) > 1 else set[int]()
    by_step = [[counts[number][step] for number in counts] for step in sorted(steps)]
    if len(by_step) < _STEPS or any(len(set(map(len, each))) > 1 for each in by_step):
        return None
    times = min(_times(each) for step in by_step for each in zip(*step, strict=True))
    sums = {number: sum(map(sum, each.values())) for number, each in counts.items()}
    most, least = (choose(sums, key=sums.__getitem__) for choose in (max, min))
    return _Unlike(most, least, times) if times >= _TIMES else None


def _counts(means: list[AlikeMean], mean: AlikeMean) -> _Counts:
    """What a rank has in the means of one line and group."""
    found: _Counts = {}
    for one in means:
        if (one.site, one.members) == (mean.site, mean.members):
            found.setdefault(one.step, []).append(one.count)
    return found


def _times(counts: Sequence[int]) -> float:
    return max(counts) / min(counts)
