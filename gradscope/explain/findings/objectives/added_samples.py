"""GS891: the samples of a batch are added up, and the sum is added to something of each sample."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.gradients.added_samples import added_samples
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related


def batch_summed(case: Case) -> Iterator[Cause]:
    """What it flags: a term of each sample that is added up over the batch, and then added to another of each sample.

    Why: Python's sum() goes through a tensor along its first dimension, that of the batch. The one number that it gives
    is broadcast to every sample: in the mean the term weighs as many times as much as there are samples.

    Wrong:
        kl = kl_divergence(q, prior).sum(1)
        loss = (reconstruction + sum(kl)).mean()

    Right:
        kl = kl_divergence(q, prior).sum(1)
        loss = (reconstruction + kl).mean()

    Do instead: leave sum() away where there is one number for each sample; name a dimension with .sum(dim=1) elsewhere.

    How it is found: the elements of a vector are added one by one, and their sum is added to, or taken from, a vector
    of as many. Both come from one tensor with a row for each sample, nothing that is not written as a number scales the
    first, and the result goes into the loss by sums and means alone.
    """
    for one in added_samples(case):
        by = "Python's sum() adds up" if "sum(" in (one.site.source or "") else "this adds up"
        yield Cause(
            f"{by} the {one.count} samples of the batch, and the one number is added to something of each sample: it "
            f"weighs {one.count} times as much",
            one.site,
            (Related("called_at", one.used, "is broadcast"),) if one.used is not None and one.used != one.site else (),
            certain=False,
        )
