"""How to make a graph small enough to look at: each rule of the reduction, and its switch."""

from __future__ import annotations

from dataclasses import dataclass

MOST_BOXES = 150
MOST_CHILDREN = 1000
RADIUS = 3


@dataclass(frozen=True, slots=True)
class Rules:
    """What to fold.

    `depth` is how many levels of module calls are opened, None for as many as make `most` boxes. `fold` False gives
    every node of an open group a box. `params` is None for parameters as rows of what uses them, True for boxes, False
    for nothing at all. `keep` are ids of nodes that get a box whatever happens, `focus` of one such node; with `radius`
    only what is so many edges away from it is shown. `step` is the number of a step to open in each repeat, from 1.
    """

    depth: int | None = None
    fold: bool = True
    params: bool | None = None
    keep: frozenset[int] = frozenset()
    focus: int | None = None
    radius: int = RADIUS
    most: int = MOST_BOXES
    step: int | None = None

    @property
    def must(self) -> frozenset[int]:
        """The ids of the nodes that are never folded away."""
        return self.keep if self.focus is None else self.keep | {self.focus}


DEFAULT = Rules()
