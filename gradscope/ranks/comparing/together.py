"""What a comparison gathers: the first difference of each aspect, and how many there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import zip_longest

from gradscope.model.comparison import ASPECTS, BY_NAME, Difference, Moment, Side, Tally
from gradscope.model.site import Stack

Pair = tuple[int, int]  # a backward call of the first run, and its partner in the second
Rows = tuple[tuple[str, Side], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """A difference, with what its cause is looked for by: the stacks of both sides."""

    difference: Difference
    stacks: tuple[Stack, Stack] = ((), ())


@dataclass(slots=True)
class Gathered:
    """Differences by the name of their aspect; `steps` tells the step of the first run's backward calls."""

    steps: dict[int, int]
    found: dict[str, Found] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    second: dict[str, int] = field(default_factory=dict)
    differ: dict[str, int] = field(default_factory=dict)

    def count(self, aspect: str, first: int, second: int) -> None:
        """So many of them were compared."""
        self.first[aspect] = self.first.get(aspect, 0) + first
        self.second[aspect] = self.second.get(aspect, 0) + second
        self.differ.setdefault(aspect, 0)

    def note(
        self,
        aspect: str,
        backward: int,
        sides: tuple[Side, Side],
        *,
        position: int = 0,
        rows: Rows = (),
        stacks: tuple[Stack, Stack] = ((), ()),
        times: int = 1,
    ) -> None:
        """There is a difference; only the earliest of an aspect is kept."""
        self.differ[aspect] = self.differ.get(aspect, 0) + times
        moment = Moment(backward, BY_NAME[aspect].stage, position)
        known = self.found.get(aspect)
        if known is None or moment_key(moment) < moment_key(known.difference.moment):
            step = self.steps.get(backward)
            self.found[aspect] = Found(Difference(BY_NAME[aspect], moment, step, *sides, rows=rows), stacks)

    def tallies(self) -> tuple[Tally, ...]:
        """How all aspects compare."""
        return tuple(
            Tally(one, self.first.get(one.name, 0), self.second.get(one.name, 0), self.differ.get(one.name))
            for one in ASPECTS
            if one.name in self.differ
        )

    def earliest(self) -> list[Found]:
        """One for each aspect, the earliest first."""
        order = [aspect.name for aspect in ASPECTS]
        return sorted(
            self.found.values(),
            key=lambda one: (*moment_key(one.difference.moment)[:2], order.index(one.difference.aspect.name)),
        )


def moment_key(moment: Moment) -> tuple[int, int, int]:
    """For sorting by time."""
    return moment.backward, int(moment.stage), moment.position


def first_unequal(first: Iterable[object], second: Iterable[object]) -> int | None:
    """The first place at which two sequences differ; None where they are equal."""
    for position, (one, other) in enumerate(zip_longest(first, second)):
        if one != other:
            return position
    return None
