"""A gradient that is not finite on one rank before it is on the others, though no rank's loss ever shows it."""

from __future__ import annotations

from gradscope.model.finding import Finding, Severity
from gradscope.model.rank import Rank
from gradscope.ranks.core.kind import Blame
from gradscope.ranks.core.known import Ranks
from gradscope.ranks.core.words import named


def born_in_backward(ranks: Ranks) -> Blame | None:
    """What is found in the recording of the rank that had it first: the mean over all gives it to the others, in whose
    recordings it comes from nowhere."""
    backward = min((one.nonfinite_gradient for one in ranks.ranks if one.nonfinite_gradient is not None), default=None)
    if backward is None:
        return None
    early = [one for one in ranks.ranks if one.nonfinite_gradient == backward]
    told = [(one, found) for one in early if (found := _told(ranks, one, backward)) is not None]
    if not told or len(told) == len(ranks.ranks):
        return None
    found = told[0][1]
    return Blame(
        f"gradients of {named([one.rank for one, _ in told])} are not finite in backward {backward}, before those of "
        f"the other ranks: {found.message}",
        found.site,
        found.related,
        backward=backward,
        operator=found.op,
        tensor=found.tensor,
    )


def _told(ranks: Ranks, one: Rank, backward: int) -> Finding | None:
    """What made it by itself; a GradScaler's overflow is none."""
    found = (each for each in ranks.explained(one.path) if each.backward == backward)
    return next((each for each in found if each.severity is Severity.ERROR and each.site is not None), None)
