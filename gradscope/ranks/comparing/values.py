"""Compares what two runs computed, as far as it is recorded: losses, norms of weights and gradients, learning rates."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable

from gradscope.model.comparison import Side
from gradscope.model.site import Site
from gradscope.model.training import STEP
from gradscope.ranks.comparing.names import LeafNames
from gradscope.ranks.comparing.together import Gathered, Pair
from gradscope.store.reader import Recording

Step = tuple[int, int]  # an optimizer, by its place, and a count of its steps


class Values:
    """Both recordings, and what is found."""

    def __init__(self, first: Recording, second: Recording, names: LeafNames, gathered: Gathered) -> None:
        self._first, self._second, self._names, self._gathered = first, second, names, gathered

    def compare(self, pairs: list[Pair]) -> None:
        """Compare what was measured in both."""
        self._losses(pairs)
        self._sizes(pairs)
        self._rates(pairs)

    def _losses(self, pairs: list[Pair]) -> None:
        first, second = self._first.losses(), self._second.losses()
        for one, other in pairs:
            if one in first and other in second:
                self._gathered.count("loss", 1, 1)
                if not _same(first[one], second[other]):
                    here, there = first[one], second[other]
                    sides = Side(f"loss {_shown(here)}"), Side(f"loss {_shown(there)}{_apart(here, there)}")
                    self._gathered.note("loss", one, sides)

    def _sizes(self, pairs: list[Pair]) -> None:
        first = _by_leaf(self._first, self._names.first)
        second = _by_leaf(self._second, self._names.second)
        for one, other in pairs:
            if one not in first or other not in second:
                continue
            for at, leaf in enumerate({**first[one], **second[other]}):
                here, there = first[one].get(leaf), second[other].get(leaf)
                for aspect, which in (("weight", 0), ("gradient", 1)):
                    self._pair(aspect, one, at, leaf, here and here[which], there and there[which])

    def _pair(self, aspect: str, backward: int, at: int, leaf: str, here: float | None, there: float | None) -> None:
        self._gathered.count(aspect, here is not None, there is not None)
        if here is None or there is None:
            sides = Side(leaf * (here is not None)), Side(leaf * (there is not None))
        elif _same(here, there):
            return
        else:
            what = f"{leaf}: norm" if aspect == "weight" else f"{leaf}: norm of the gradient"
            sides = Side(f"{what} {_shown(here)}"), Side(f"{what} {_shown(there)}{_apart(here, there)}")
        self._gathered.note(aspect, backward, sides, position=at)

    def _rates(self, pairs: list[Pair]) -> None:
        first, second = _rates(self._first), _rates(self._second)
        whens = _whens(self._first), _whens(self._second)
        compared = {one for one, _ in pairs}
        for step in sorted(first.keys() & second.keys()):
            backward, site = whens[0].get(step[:2], (0, None))
            if backward not in compared:
                continue
            self._gathered.count("learning rate", 1, 1)
            if not _same(first[step], second[step]):
                _, other_site = whens[1].get(step[:2], (0, None))
                sides = (
                    Side(f"steps with {_shown(first[step])}", site),
                    Side(f"steps with {_shown(second[step])}", other_site),
                )
                self._gathered.note("learning rate", backward + 1, sides)


def _by_leaf(recording: Recording, name: Callable[[str], str]) -> dict[int, dict[str, tuple[float, float]]]:
    """By backward and leaf: the norms of weight and gradient."""
    found: dict[int, dict[str, tuple[float, float]]] = defaultdict(dict)
    for size in recording.sizes():
        found[size.backward][name(size.leaf)] = size.weight, size.gradient
    return found


def _rates(recording: Recording) -> dict[tuple[int, int, int], float]:
    """The learning rate of each group, where it was set, by optimizer, step and group. Optimizers count from 0."""
    rates = recording.learning_rates()
    places = {optimizer: at for at, optimizer in enumerate(sorted({rate.optimizer for rate in rates}))}
    return {(places[rate.optimizer], rate.count, rate.group): rate.value for rate in rates}


def _whens(recording: Recording) -> dict[Step, tuple[int, Site | None]]:
    """By step of an optimizer: the backward call before it, and the line that steps."""
    found: dict[Step, tuple[int, Site | None]] = {}
    counts: dict[int, int] = defaultdict(int)
    places: dict[int, int] = {}
    last = 0
    for interval in recording.intervals():
        for call in interval.calls:
            if call.kind is STEP and call.optimizer is not None:
                place = places.setdefault(call.optimizer, len(places))
                found[place, counts[place]] = last, call.site
                counts[place] += 1
        last = last if interval.backward is None else interval.backward
    return found


def _same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


def _shown(value: float) -> str:
    return f"{value:.9g}"


def _apart(one: float, other: float) -> str:
    """How far two values are apart, where that can be said."""
    largest = max(abs(one), abs(other))
    if not math.isfinite(largest) or not largest:
        return ""
    return f" ({abs(one - other) / largest:.2g} apart, relative)"
