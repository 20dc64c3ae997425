"""GS903: samples that are normalised by the mean of the ranks' variances, without the spread between their means."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gradscope.model.finding import Related
from gradscope.ranks.core.copies import trained_alike
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.data.running import averaged_variances
from gradscope.ranks.data.statistics import Averaged
from gradscope.ranks.gradients.mean_losses import have_own_losses
from gradscope.store.reader import load

_EXCHANGES = ("allreduce", "all_reduce", "allgather", "all_gather")


def averages_variances(ranks: Ranks) -> Iterator[Blame]:
    """What it flags:
        Samples that are normalised over all ranks, by the mean of all and by the mean of the ranks' own variances, each
        of which was taken about a mean of the rank's own.
    Why:
        The variance of all samples is the mean of the ranks' variances and the variance of their means. What is left
        out is small where all ranks draw from the same data, and large where each has its own: a site, a language, a
        sensor. Samples are then divided by too small a number, and the model is another one than on a single rank.
    Wrong:
        mean = mean_over_ranks(x.mean(0))
        variance = mean_over_ranks(x.var(0, unbiased=False))
        x = (x - mean) / (variance + eps).sqrt()
    Right:
        mean = mean_over_ranks(x.mean(0))
        variance = mean_over_ranks((x - mean).square().mean(0))
        x = (x - mean) / (variance + eps).sqrt()
    Do instead:
        Exchange the mean first, and then the mean of squares about it; or that of the plain squares, from which the
        square of the mean is taken off; or add the variance of the ranks' means.
    How it is found:
        The way of tensors through operators on the first rank of replicas that have losses of their own, or of ranks
        whose weights are the same at every look: the mean of a tensor and its variance (of torch's, or the mean of
        squares about its own mean) are both given to a sum or a gather over ranks, nothing but numbers are added to
        them or multiplied with them, and that tensor, without this mean, is divided by the root of this variance, or
        both are given to a batch norm with it. The line is that which takes the variance. A hint where it is one number
        for all samples, or a standard deviation, or where no gradient goes to the tensor: there it may be meant as an
        estimate. A hint, too, is a running estimate, which both averages go into with nothing but numbers, and by which
        the samples are normalised then: the spread between the ranks cannot be in it.
    """
    exchanged = (one.operator for one in ranks.collectives if not one.inside)
    if not any(each in operator for operator in exchanged for each in _EXCHANGES):
        return
    found: dict[str, Averaged] = {}
    for replicas in trained_alike(ranks):
        if have_own_losses(ranks, replicas):
            with load(Path(ranks.rank(replicas.members[0]).path)) as recording:
                for one in averaged_variances(recording):
                    before = found.setdefault(str(one.variance.site), one)
                    if before.may_be_an_estimate and not one.may_be_an_estimate:
                        found[str(one.variance.site)] = one
    for one in found.values():
        yield Blame(
            "samples without their mean over all ranks are divided by the mean of the ranks' variances, each about the "
            "rank's own mean: the spread between these means is left out",
            one.variance.site,
            (Related("cause_at", one.divides, "where they are divided"),),
            certain=not one.may_be_an_estimate,
            meant=one.may_be_an_estimate,
        )
