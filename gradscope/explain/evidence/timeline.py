"""How the program trains, as one line of moments for each thread: the calls by which it does, and its backward calls.

The surprise: an optimizer with a closure calls backward from inside of its step, so that what comes before and after
a step says nothing there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from heapq import merge
from itertools import pairwise
from operator import itemgetter

from gradscope.model.graph import Backward
from gradscope.model.site import Site, Stack
from gradscope.model.training import FORWARD, GAP, STEP, CallKind, TrainingCall
from gradscope.store.asked import kept
from gradscope.store.facts import Facts

_CLOSURE = "torch/optim/"


@dataclass(frozen=True, slots=True)
class Moment:
    """A call by which the program trains, or a backward that gives gradients to leaves."""

    call: TrainingCall | None = None
    backward: Backward | None = None

    def has(self, *kinds: CallKind) -> bool:
        """Whether it is a call of one of these kinds."""
        return self.call is not None and self.call.kind in kinds

    @property
    def stack(self) -> Stack:
        """Where it was called: one line may train in one call of its function and evaluate in another."""
        one = self.call or self.backward
        return () if one is None else one.stack

    @property
    def site(self) -> Site | None:
        """The user's line."""
        one = self.call or self.backward
        return None if one is None else one.site


class Timeline:
    """The moments of one thread, in order."""

    def __init__(self, moments: tuple[Moment, ...]) -> None:
        self.moments = moments

    @cached_property
    def backwards(self) -> tuple[int, ...]:
        """The places of the backward calls."""
        return tuple(at for at, one in enumerate(self.moments) if one.backward is not None)

    @cached_property
    def places_of_steps(self) -> tuple[int, ...]:
        """The places of the steps of all optimizers."""
        return tuple(at for at, _ in self.of(STEP))

    @cached_property
    def has_closures(self) -> bool:
        """Whether an optimizer calls backward from inside of its step."""
        stacks = {id(one.stack): one.stack for one in self.moments if one.backward is not None}
        return any(_CLOSURE in site.file.replace("\\", "/") for stack in stacks.values() for site in stack)

    def of(self, *kinds: CallKind) -> Iterator[tuple[int, TrainingCall]]:
        """The calls of some kinds, with their places."""
        found = [self._calls[kind] for kind in kinds if kind in self._calls]
        return iter(found[0]) if len(found) == 1 else merge(*found, key=itemgetter(0))

    @cached_property
    def _calls(self) -> dict[CallKind, list[tuple[int, TrainingCall]]]:
        found: dict[CallKind, list[tuple[int, TrainingCall]]] = defaultdict(list)
        for at, one in enumerate(self.moments):
            if one.call is not None:
                found[one.call.kind].append((at, one.call))
        return dict(found)

    def windows(self, optimizer: int, first: bool = False) -> Iterator[tuple[Moment, ...]]:
        """What lies between two steps of an optimizer, both ends left out; with `first`, also what lies before all."""
        places = [at for at, call in self.of(STEP) if call.optimizer == optimizer]
        places = [-1, *places] if first else places
        return (self.moments[one + 1 : last] for one, last in pairwise(places))

    @cached_property
    def modes(self) -> dict[int, frozenset[bool]]:
        """By the place of each backward: the modes, training or not, of the models that were called for it.

        A model counts that is called in both modes: a loss or a frozen teacher has but one.
        """
        forwards = {(call.module, bool(call.count)) for _, call in self.of(FORWARD) if call.total}
        both = {module for module, training in forwards if (module, not training) in forwards}
        found = {at: frozenset[bool]() for at in self.backwards}
        for at, call in self.of(FORWARD) if both else ():
            if call.total and call.module in both:
                following = bisect_right(self.backwards, at)
                if following < len(self.backwards):
                    found[self.backwards[following]] |= {bool(call.count)}
        return found

    def before(self, at: int, *kinds: CallKind) -> Moment | None:
        """The nearest moment before a place that is a backward or a call of one of these kinds."""
        places = range(at - 1, -1, -1)
        return next((self.moments[one] for one in places if self._ends(one, kinds)), None)

    def after(self, at: int, *kinds: CallKind) -> Moment | None:
        """The nearest one after it."""
        places = range(at + 1, len(self.moments))
        return next((self.moments[one] for one in places if self._ends(one, kinds)), None)

    def _ends(self, at: int, kinds: tuple[CallKind, ...]) -> bool:
        return self.moments[at].backward is not None or self.moments[at].has(*kinds)


def alike(moments: Iterable[Moment]) -> tuple[int, ...]:
    """What is the same of moments at which the same calls are made on the same lines: a loop has thousands of those."""
    return tuple(id(one.call or one.stack) for one in moments)


@kept
def timelines(facts: Facts) -> tuple[Timeline, ...]:
    """Those of each thread that trains, another after each gap; none where torch's calls could not be heard."""
    threads: dict[int, list[Moment]] = defaultdict(list)
    ended: list[list[Moment]] = []
    calls = {call.number: call for call in facts.backwards()}
    moments: dict[int, Moment] = {}  # of calls: intervals that are alike have the same
    for interval in facts.intervals():
        for one in interval.calls:
            if one.kind is GAP:
                ended.append(threads.pop(interval.thread, []))
            else:
                moment = moments.get(id(one)) or moments.setdefault(id(one), Moment(one))
                threads[interval.thread].append(moment)
        backward = calls.get(interval.backward) if interval.backward is not None else None
        if backward is not None and backward.kind == "backward":
            threads[interval.thread].append(Moment(backward=backward))
    return tuple(Timeline(tuple(moments)) for moments in (*ended, *threads.values()) if moments)


@kept
def is_whole(facts: Facts) -> bool:
    """Whether all that the run did by itself is in its timelines: what is not there did not happen."""
    return bool(facts.intervals()) and not any(call.kind is GAP for one in facts.intervals() for call in one.calls)
