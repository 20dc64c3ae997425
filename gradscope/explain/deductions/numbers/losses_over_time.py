"""Losses that are numbers still, and have left all measure."""

from __future__ import annotations

from statistics import median

from gradscope.explain.evidence.case import Case

_FEW, _LATE, _LOST = 5, 3, 1e6  # losses, and those at the end, at least; how many times larger than the first


def lost_from(case: Case) -> tuple[int, float, float] | None:
    """The first of the backward calls whose losses are all a million times larger than the first, with that one (at
    least 1) and the last; None where they are not, or have come back.

    At least a quarter of all losses, the last ones, must be so.
    """
    losses = [(number, abs(value)) for number, value in case.losses().items()]
    began = max([1.0, *(value for _, value in losses[:1])])
    lost = len(losses)
    while lost and losses[lost - 1][1] >= _LOST * began:
        lost -= 1
    if len(losses) < _FEW or len(losses) - lost < max(len(losses) // 4, _LATE):
        return None
    return losses[lost][0], began, losses[-1][1]


def has_fallen(case: Case) -> bool:
    """Whether the losses at the end are less than half of those at the beginning: the program learns."""
    losses = list(case.losses().values())
    part = max(len(losses) // 8, 1)
    return len(losses) >= _FEW and 0 <= median(losses[-part:]) < median(losses[:part]) / 2
