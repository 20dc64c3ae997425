"""GS737: training that diverges, by the line that gives the rate, or weights that begin too large."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.chains_through_time import exploding_chain
from gradscope.explain.deductions.numbers.losses_over_time import lost_from
from gradscope.explain.deductions.numbers.nonfinite_arrivals import FirstNonfinite, first_nonfinite
from gradscope.explain.deductions.numbers.weight_growth import (
    begun_large,
    growth_at_all,
    has_diverged,
    is_certain,
    weight_growth,
)
from gradscope.explain.deductions.steps.probing_backwards import lost_by_probes
from gradscope.explain.deductions.steps.step_lines import rate_line, step_line
from gradscope.explain.deductions.steps.summed_batches import summed_for_a_step
from gradscope.explain.evidence.case import Case
from gradscope.model.finding import Related
from gradscope.model.site import Site
from gradscope.model.size import LeafSize

_BEGIN = """leave torch's own random values, take nn.init.kaiming_normal_ or xavier_normal_, or a std of about
1 / sqrt(inputs)"""


def diverged(case: Case) -> Iterator[Cause]:
    """What it flags: training that diverges: the weights grow from step to step until something overflows.

    Why: a step that is too large overshoots, the next gradient is larger, and the step after it still more. The NaN at
    the end is born in whatever line overflows first, which is not to blame.

    Wrong:
        optimizer = torch.optim.SGD(model.parameters(), lr=10.0)

    Right:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    Do instead: lower the learning rate, clip the gradients (torch.nn.utils.clip_grad_norm_) between backward() and
    step(), or normalise inputs and targets.

    How it is found: the loss is not finite, and the weights, measured in the steps 0, 1, 2, 4, 8, ... had grown at
    least a hundredfold before; tenfold where numbers of more than 1e15 overflowed, or threefold in eight steps. Or the
    loss ends a million times larger than it began. The line named is the one that gives the optimizer its rate, or else
    the one that updates the weights; or the backward of several whose gradients SGD adds up for each step; or the one
    that gave several layers weights with which each multiplies what goes through it by more than 4.
    """
    found = first_nonfinite(case)
    if lost_by_probes(case):
        return  # that is why
    if found is None:
        yield from _finite(case)
    elif has_diverged(case):
        yield from _overflown(case, found)


def _overflown(case: Case, found: FirstNonfinite) -> Iterator[Cause]:
    """The growth that ended in what is not finite."""
    grown = weight_growth(case)
    born = None if found.birth is None else found.birth.site
    related = () if born is None else (Related("first_nonfinite_at", born, found.birth.op if found.birth else ""),)
    backward, begun = None if found.arrival is None else found.arrival.backward, begun_large(case)
    if begun is not None:
        line, gain = begun
        told = (
            f"weights begin so large that a layer's output is up to {gain:.2g} times its input, and so on from layer to"
        )
        yield Cause(f"{told} layer, until something overflowed; {found.where}", line, related, fails=found.fails,
                    backward=backward, certain=False, advice=_BEGIN)  # fmt: skip
        return
    site = None if grown is None else step_line(case, grown[1].leaf)
    if grown is not None and site is not None and exploding_chain(case) is None:  # else that is why
        rate, told = _too_far(case) or (rate_line(case, site), "")
        yield Cause(
            f"{told}{_grew(*grown)}, until something overflowed; {found.where}",
            rate or site,
            related if rate is None else (Related("called_at", site, "the step"), *related),
            fails=found.fails,
            tensor=grown[1].leaf,
            backward=backward,
            certain=is_certain(grown),
        )


def _finite(case: Case) -> Iterator[Cause]:
    """A loss that ends a million times larger than it began, and is still a number."""
    lost = lost_from(case)
    grown = None if lost is None else growth_at_all(case)
    site = None if grown is None else step_line(case, grown[1].leaf)
    if lost is not None and grown is not None and site is not None:
        rate, told = _too_far(case) or (rate_line(case, site), "")
        yield Cause(
            f"{told}{_grew(*grown)}, and the loss from {lost[1]:.2g} to {lost[2]:.2g}",
            rate or site,
            () if rate is None else (Related("called_at", site, "the step"),),
            tensor=grown[1].leaf,
            certain=False,
        )


def _too_far(case: Case) -> tuple[Site | None, str] | None:
    """The backward whose gradients are added up for a step that would be right for their mean, and words for it."""
    summed = summed_for_a_step(case)
    if summed is None:
        return None
    first, count = summed[1][0], len(summed[1])
    return first.site, f"the gradients of {count} backward calls are added up for each step, none divided by {count}: "


def _grew(first: LeafSize, last: LeafSize) -> str:
    return (
        f"{last.leaf} grew from a norm of {first.weight:.2g} in backward {first.backward} to {last.weight:.2g} in "
        f"{last.backward}"
    )
