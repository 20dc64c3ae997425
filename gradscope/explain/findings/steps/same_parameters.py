"""GS887: two optimizers of the same parameters, beside others that no optimizer holds."""

from __future__ import annotations

from collections.abc import Iterator

from gradscope.explain.deductions.cause import Cause
from gradscope.explain.deductions.steps.optimizer_parameters import NAMELESS, optimizer_parameters
from gradscope.explain.evidence.case import Case
from gradscope.explain.evidence.optimizers import made_at
from gradscope.explain.evidence.timeline import timelines
from gradscope.explain.evidence.words import several
from gradscope.model.finding import Related
from gradscope.model.training import SCALED_STEP, STEP


def same_parameters(case: Case) -> Iterator[Cause]:
    """What it flags: two optimizers that take turns hold the same parameters, and a module that gets gradients is in
    none.

    Why: the second optimizer was to train the other network. It moves the first once more, by the gradients of another
    loss or by none, and the other network stays as it was made.

    Wrong:
        optimizers = {
            "generator": Adam(generator.parameters()),
            "critic": Adam(generator.parameters()),
        }

    Right:
        optimizers = {
            "generator": Adam(generator.parameters()),
            "critic": Adam(critic.parameters()),
        }

    Do instead: give each optimizer the parameters of its own network.

    How it is found: the parameters that each optimizer holds, two of which hold the same and step in turn; and
    parameters that get gradients and that no optimizer holds. The line is that of the one which was made later.
    """
    unheld = optimizer_parameters(case).unheld
    held: dict[int, frozenset[int]] = {}
    for look in case.optimizer_looks() if unheld else ():
        held[look.optimizer] = frozenset(one.tensor for one in look.parameters)
    for later in sorted(held):
        for first in (one for one in sorted(held) if one < later and held[one] == held[later] and held[one]):
            site, other = made_at(case, later), made_at(case, first)
            if site is not None and _take_turns(case, first, later):
                known = dict.fromkeys(one.leaf or NAMELESS for one in unheld)
                names = f"{len(unheld)} others" if NAMELESS in known else several(tuple(known))
                yield Cause(
                    f"this optimizer holds the same {len(held[later])} parameters as another one, and {names} in none",
                    site,
                    (Related("declared_at", other, "the other"),) if other is not None and other != site else (),
                    certain=False,
                    tensor=unheld[0].leaf,
                )
                return


def _take_turns(case: Case, first: int, later: int) -> bool:
    """Whether the first of two optimizers steps again when the later one has stepped."""
    for timeline in timelines(case):
        steps = [call.optimizer for _, call in timeline.of(STEP, SCALED_STEP)]
        if later in steps and first in steps[steps.index(later) :]:
            return True
    return False
