"""How large weights and gradients were from step to step."""

from __future__ import annotations

import math

from gradscope.explain.evidence.case import Case
from gradscope.model.size import LeafSize

_GROWN = 100.0
_USUAL = 0.1  # the size of an element of most weights


def weight_growth(case: Case) -> tuple[LeafSize, LeafSize] | None:
    """The weight that grew most while it was finite, as measured first and last; None when none grew."""
    samples = samples_of(case)
    best: tuple[LeafSize, LeafSize] | None = None
    for name, first in samples[0].items() if samples else ():
        sizes = [one[name] for one in samples if name in one and one[name].weight < float("inf")]
        ratio = sizes[-1].weight / _size_before(first) if sizes else 0.0
        if ratio >= _GROWN and (best is None or ratio > best[1].weight / _size_before(best[0])):
            best = first, sizes[-1]
    return best


def _size_before(first: LeafSize) -> float:
    """What growth is measured against: a bias that begins at zero has not grown when it is trained."""
    return max(first.weight, _USUAL * math.sqrt(first.count))


def samples_of(case: Case) -> list[dict[str, LeafSize]]:
    """The measured steps, in order, each by leaf."""
    known = {call.number for call in case.backwards()}
    found: dict[int, dict[str, LeafSize]] = {}
    for size in case.sizes():
        if size.backward in known:
            found.setdefault(size.backward, {})[size.leaf] = size
    return [found[number] for number in sorted(found)]
