"""Operators of one stretch, which have no times of their own: evenly spread, and so written as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gradscope.exports.places import Place
from gradscope.model.export import Slice


@dataclass(frozen=True, slots=True)
class Spread:
    """So many operators from `start` on, each as long, and the nodes around them; a flow for each place, or 0."""

    start: int
    each: int
    operators: int
    places: Sequence[Place]
    flows: Sequence[int]

    @property
    def until(self) -> int:
        """Its end."""
        return self.start + self.operators * self.each

    def slices(self) -> Iterator[Slice]:
        """The same, slice by slice."""
        start = self.start
        for place, flow in zip(self.places, self.flows, strict=True):
            yield start, start + place.length * self.each, place.kind, flow
            if not place.around:
                start += self.each


Timed = Slice | Spread


def in_order(items: Sequence[Timed]) -> list[Timed]:
    """By their start; of those that start together the first is around the others. A stretch in which something else
    starts is taken apart."""
    whole = sorted(items, key=_start)
    apart = _interrupted(whole)
    if not apart:
        return whole
    found: list[Timed] = []
    for item in items:
        if isinstance(item, Spread) and id(item) in apart:
            found += item.slices()
        else:
            found.append(item)
    return sorted(found, key=_start)


def _interrupted(items: Sequence[Timed]) -> set[int]:
    """The stretches in which something else starts, or that start in another."""
    found: set[int] = set()
    last: Spread | None = None  # of those so far the one that ends last
    for item in items:
        if last is not None and _start(item) < last.until:
            found.add(id(last))
            if isinstance(item, Spread):
                found.add(id(item))
        if isinstance(item, Spread) and (last is None or item.until > last.until):
            last = item
    return found


def _start(item: Timed) -> int:
    return item.start if isinstance(item, Spread) else item[0]
