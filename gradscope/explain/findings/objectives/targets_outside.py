"""GS885: targets of two classes that are neither 0 nor 1, nor between."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.evidence.case import Case
from gradscope.model.notice import TARGETS_OUTSIDE


def targets_outside(case: Case) -> Iterator[Cause]:
    """What it flags: binary_cross_entropy_with_logits of targets below 0 or above 1.

    Why: a target is a probability. With -1 for the other class, or with pixels up to 255, the loss has no least value:
    it falls below zero for ever, while the scores grow.

    Wrong:
        label = torch.sign(score)                                # -1 or 1
        loss = F.binary_cross_entropy_with_logits(net(x), label)

    Right:
        label = (score > 0).float()
        loss = F.binary_cross_entropy_with_logits(net(x), label)

    Do instead: bring the targets to 0 and 1; for -1 and 1 take soft_margin_loss.

    How it is found: the least and the largest target of the first calls of a line. On an accelerator they are not read.
    """
    for notice in case.notices():
        if notice.what == TARGETS_OUTSIDE and notice.site is not None:
            yield Cause("targets of this loss are below 0 or above 1: it has no least value", notice.site)
