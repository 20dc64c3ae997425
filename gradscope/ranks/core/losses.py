"""What backward calls of ranks started from: ranks with parts of one model have one loss, others have their own."""

from __future__ import annotations

import math
from collections.abc import Collection

from gradscope.ranks.core.known import Ranks

Losses = dict[int, float]  # by backward call


def losses_of(ranks: Ranks, members: Collection[int], first: int | None = None) -> list[Losses]:
    """The losses of each of some ranks, all or the first few."""
    of_each = {number: losses[:first] for losses, numbers in ranks.losses.items() for number in numbers}
    return [{at: float(value) for at, value in of_each.get(number, ())} for number in members]


def are_alike(losses: list[Losses], tolerance: float) -> bool:
    """Whether all have the same calls, and the same numbers but for a relative tolerance."""
    first = losses[0] if losses else {}
    return all(
        one.keys() == first.keys() and all(math.isclose(one[at], first[at], rel_tol=tolerance) for at in first)
        for one in losses
    )
