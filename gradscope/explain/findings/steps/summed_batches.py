"""GS880: gradients of several small batches that are added up, where the rate is meant for their mean."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.summed_batches import summed_for_a_step
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.model.finding import Related

_FEW = 8  # losses, at least
_LATE = 4  # the last part of the losses that is looked at: one in so many
_NO_LOWER = 0.95  # of the first losses


def micro_batches_summed(case: Case) -> Iterator[Cause]:
    """What it flags: several backward calls for each step of SGD, none of whose losses is divided by their number, in
    a training whose loss does not fall.

    Why: backward adds to .grad. The sum over 16 small batches is 16 times the gradient of the large batch that they
    stand for, and a step is 16 times as far as the rate says.

    Wrong:
        for x, y in micro_batches:
            criterion(model(x), y).backward()
        optimizer.step()

    Right:
        for x, y in micro_batches:
            (criterion(model(x), y) / len(micro_batches)).backward()
        optimizer.step()

    Do instead: divide each loss by the number of backward calls before the step, or lower the rate by as much.

    How it is found: four or more calls of one line before each of nearly all steps, whose roots are means, or losses
    that take one by themselves; and the last quarter of the losses is no lower than the first ones. Adam and the like
    step as far whatever factor the gradients have. A hint: a sum may be meant, and a loss may stay for other reasons.
    """
    summed = summed_for_a_step(case)
    if summed is not None and _stays(case, len(summed[1])):
        optimizer, calls = summed
        made = made_at(case, optimizer)
        yield Cause(
            f"the gradients of {len(calls)} backward calls are added up for each step, and no loss is divided by their "
            f"number: the steps are {len(calls)} times as far as with the mean, and the loss has not fallen",
            calls[0].site,
            () if made is None else (Related("declared_at", made, "the optimizer"),),
            backward=calls[0].number,
            certain=False,
        )


def _stays(case: Case, batches: int) -> bool:
    """Whether the loss is no lower in the last part of the run than in the first step."""
    losses = list(case.losses().values())
    late = losses[-(len(losses) // _LATE) :]
    return len(losses) >= _FEW and median(late) >= _NO_LOWER * median(losses[:batches])
