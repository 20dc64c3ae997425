"""GS745: training that is lost from one step on, by the line whose derivative had no bound there."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.numbers.losses_since import is_lost_since
from gradscope.explain.deductions.numbers.nonfinite_arrivals import node_of
from gradscope.explain.deductions.numbers.weight_growth import samples_of
from gradscope.explain.evidence.case import Case
from gradscope.model.birth import Birth
from gradscope.model.finding import Severity

_THROWN = 1e4  # times as large a weight is after the step as it was, which no rate alone makes of it


def gradient_leapt(case: Case) -> Iterator[Cause]:
    """What it flags: a gradient that becomes a million times larger in one operator of a backward, and the step after
    which training is lost.

    Why: a vector of zeros has no direction, a root no slope at zero. A small number that stands in for the zero keeps
    the value finite, and makes the derivative one over that number: 1e12 for normalize().

    Wrong:
        vectors = F.normalize(table(users), dim=1)      # rows that are still zero

    Right:
        vectors = F.normalize(table(users), dim=1, eps=1e-3)      # or rows that begin with small random values

    Do instead: keep what is divided by, or what a root or power is taken of, away from zero: begin with random values,
    take an eps that is not small beside the values, or mask what is zero before the operator and not after it.

    How it is found: an operator of a backward that divides or takes a power gave a number of more than 1e8, a million
    times larger than all that it was given; after that step the loss is a million times larger than at first or not
    finite. Where only a weight is, ten thousand times larger than before, it is a hint: a length may not matter. On an
    accelerator such values are not read.
    """
    for leap in case.leaps():
        found = node_of(case, leap)
        if found is None or leap.backward is None or found[1].site is None:
            continue
        node, lost, thrown = found[1], is_lost_since(case, leap.backward), _thrown_since(case, leap.backward)
        if not lost and thrown is None:
            continue
        after = "training is lost from the step after it on" if lost else f"the step after it throws {thrown} about"
        where = f"the gradient leaps in backward {leap.backward}, to {leap.value:.1e}"
        yield Cause(
            f"{where}: {node.name} {_why(leap)}, and {after}",
            node.site,
            node=node.id,
            backward=leap.backward,
            certain=False,
            severity=None if lost else Severity.INFO,
        )
        return


def _why(leap: Birth) -> str:
    """What the operator was given there, in words."""
    bottom = leap.argument_named("other")
    if leap.base == "div" and bottom is not None and bottom.value is not None:
        return f"divides by {bottom.value:.1e}"
    given = leap.argument_named("self")
    if given is not None and given.value is not None:
        return f"takes {leap.base} of {given.value:.1e}"
    return f"calls {leap.base} on numbers near zero"


def _thrown_since(case: Case, backward: int) -> str | None:
    """A weight that is far larger at the first look after a backward than at the last one before it."""
    samples = samples_of(case)
    before = [one for one in samples if next(iter(one.values())).backward <= backward]
    after = samples[len(before) : len(before) + 1] if before else []
    sizes = ((size, before[-1].get(size.leaf)) for one in after for size in one.values())
    thrown = (now.leaf for now, was in sizes if was is not None and now.weight > _THROWN * max(was.weight, 1.0))
    return next(thrown, None)
