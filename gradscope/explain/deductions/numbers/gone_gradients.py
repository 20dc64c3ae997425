"""How much is left of the gradients that leaves have had."""

from __future__ import annotations

from gradscope.model.size import LeafSize

_ROUNDING = 1e-6  # of the greatest gradient of all leaves: what has less cancels, as that of a bias behind a difference


def are_gone(looks: list[dict[str, LeafSize]], left: float) -> bool:
    """Whether no leaf of the last look has more than such a part of the gradient that it has had."""
    greatest = greatest_gradients(looks)
    least = _ROUNDING * max(greatest.values(), default=0.0)
    sizes = [size for size in looks[-1].values() if greatest[size.leaf] > least]
    return all(size.gradient <= left * greatest[size.leaf] for size in sizes) and any(greatest.values())


def greatest_gradients(looks: list[dict[str, LeafSize]]) -> dict[str, float]:
    """The greatest gradient that each leaf of the last look has had."""
    return {name: max(one[name].gradient for one in looks if name in one) for name in looks[-1]}
