"""Tells what descends from what among the looks at an accelerator, once their numbers have come to the host.

Nothing is known of a result but its largest magnitude. In a step that is looked at closely the looks are linked by the
storages that operators read and wrote; in any other, the first result of the step that is not finite is to blame. What
was not finite in a step that did no harm is a habit of the program, such as a mask of -inf, and never to blame.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable
from typing import NamedTuple

from gradscope.probes.core.module_call import RunningModuleCall
from gradscope.probes.nonfinite.origins import BORN, ENTERED, GRADIENT, ROOT, NonfiniteOrigin, OriginWriter

OPERATOR, LOSS, LEAF, FAILED, OVER, SIZE = range(6)
CLOSE, TOLD, OUTSIDE, NAMED = 1, 2, 4, 8
NUMBERS = 11  # of a look
_MOST = 64  # events of one step
_HABITS = 4096


class Look(NamedTuple):
    """One look, as numbers. `backward` and `node` are -1 in a forward.

    `flags`: CLOSE, it is linked to others; TOLD, the operator was given an Inf as a plain number; OUTSIDE, this is an
    argument that no operator of the step made, or made of one that was bad already. `name` is that argument's,
    NAMED, a leaf's, or the identity of one; it and `device` are numbers of words.
    """

    kind: int
    operator: int
    stack: int
    thread: int
    call: int
    backward: int
    node: int
    step: int
    device: int
    flags: int
    name: int


class Looks:
    """Looks on their way together: their numbers, and which read what an earlier one saw (a CPU's event: below 0)."""

    __slots__ = ("asked", "calls", "first", "marks", "near", "numbers", "parents")

    def __init__(self, first: int) -> None:
        self.first = first  # the number of the first look
        self.numbers = array("q")
        self.marks = array("q")  # looks to come to in any case
        self.parents = array("q")  # look, what it read, whether it overwrote that
        self.asked: list[tuple[range, Callable[[list[float]], None]]] = []  # numbers that somebody waits for
        self.calls: dict[int, RunningModuleCall] = {}
        self.near: dict[int, NonfiniteOrigin] = {}

    @property
    def next(self) -> int:
        """The number that the next look gets."""
        return self.first + len(self.numbers) // NUMBERS

    def look(self, number: int) -> Look:
        """One of them."""
        at = (number - self.first) * NUMBERS
        return Look(*self.numbers[at : at + NUMBERS])


class Lineage:
    """Goes through looks in the order of the program. `first` is this step's first event, `reached` counts the losses
    that were not finite, `huge` says that one was about to be.
    """

    def __init__(
        self, origins: OriginWriter, leaf: Callable[[int], int], text: Callable[[int], str], huge: float
    ) -> None:
        """`leaf` interns the name of a leaf by identity, `text` gives back the words of a look."""
        self._written_origins, self._leaf, self._text, self._huge = origins, leaf, text, huge
        self.first: NonfiniteOrigin | None = None
        self.reached = 0
        self.huge = False
        self._events: dict[tuple[int, int, int], NonfiniteOrigin] = {}
        self._states: dict[
            int, NonfiniteOrigin | None
        ] = {}  # by look: where it comes from, None for what was asked for
        self._seen: set[tuple[int, int, int]] = set()
        self._habits: set[tuple[int, int, int]] = set()
        self._harmful = False

    def follow(self, looks: Looks, values: dict[int, float]) -> None:
        """Go on with these. `values` holds those that are huge or not finite, by look."""
        parents: dict[int, list[tuple[int, bool]]] = {}
        numbers = looks.parents
        for at in range(0, len(numbers), 3):
            parents.setdefault(numbers[at], []).append((numbers[at + 1], bool(numbers[at + 2])))
        for number in sorted({*values, *looks.marks, *parents}):
            look, value = looks.look(number), values.get(number, 0.0)
            self._step(number, look, value, parents.get(number, ()), looks)

    def close(self) -> None:
        """The program has ended: what was born in the step that was not over may be why."""
        for event in list(self._events.values()):
            self._written_origins.write(event)

    def _step(self, number: int, look: Look, value: float, parents: Iterable[tuple[int, bool]], looks: Looks) -> None:
        finite = math.isfinite(value)
        if look.kind == OVER:
            self._over()
        elif look.kind == FAILED:
            self.close()
        elif look.kind in (LOSS, LEAF):
            self.huge |= look.kind == LOSS and value > self._huge
            if not finite:
                self._arrived(look, value, [self._origin(parent, looks) for parent, _ in parents])
        elif look.kind == OPERATOR and finite:
            self._hides(look, [self._origin(parent, looks) for parent, written in parents if not written])
        elif look.kind == OPERATOR:
            self._seen.add(_key(look))
            known = [parent for parent, _ in parents if parent < 0 or parent in self._states]
            self._states[number] = self._source(look, value, [self._origin(one, looks) for one in known], looks)

    def _origin(self, number: int, looks: Looks) -> NonfiniteOrigin | None:
        return looks.near.get(-number) if number < 0 else self._states.get(number)

    def _source(
        self, look: Look, value: float, known: list[NonfiniteOrigin | None], looks: Looks
    ) -> NonfiniteOrigin | None:
        """The event that a result descends from, an earlier one's or its own."""
        event = next((one for one in known if one is not None), None)
        if event is not None:
            return event
        nan = math.isnan(value)
        if not nan and (known or look.flags & (TOLD | OUTSIDE)):
            return None  # a mask, as far as anybody knows
        if not look.flags & CLOSE and self.first is not None:
            return self.first
        return self._event(look, nan, ENTERED if look.flags & OUTSIDE else BORN, looks)

    def _event(self, look: Look, nan: bool, kind: str, looks: Looks) -> NonfiniteOrigin | None:
        key = _key(look)
        known = self._events.get(key)
        if known is not None or key in self._habits or len(self._events) >= _MOST:
            return known
        event = self._events[key] = self._written_origins.event(kind, look.operator, look.stack)
        event.step, event.thread, event.call = look.step, look.thread, looks.calls.get(look.call)
        event.backward = None if look.backward < 0 else look.backward
        event.node = None if look.node < 0 else look.node
        event.argument = self._text(look.name) if kind == ENTERED else ""
        given = [{"name": event.argument}] if kind == ENTERED and not look.flags & NAMED else []
        result = {"shape": [], "index": [], "nan": int(nan), "inf": int(not nan), "device": self._text(look.device)}
        event.evidence = json.dumps({"result": result, "arguments": given})
        self.first = self.first or event
        return event

    def _hides(self, look: Look, origins: list[NonfiniteOrigin | None]) -> None:
        """A finite result of something that is not."""
        for event in origins:
            if event is not None and not event.masked:
                event.masked, event.masked_by = look.operator, look.stack

    def _arrived(self, look: Look, value: float, origins: list[NonfiniteOrigin | None]) -> None:
        event = next((one for one in origins if one is not None), self.first)
        nan = math.isnan(value)
        self._harmful = True
        where, name = (ROOT, 0) if look.kind == LOSS else (GRADIENT, self._leaf(look.name))
        self._written_origins.arrived(look.backward, where, name, event, int(nan), int(not nan))
        self.reached += look.kind == LOSS

    def _over(self) -> None:
        """The step has done its harm, or none: then what was not finite in it will not harm in others."""
        if not self._harmful and len(self._habits) < _HABITS:
            self._habits |= self._seen
        self._seen.clear()
        self._events.clear()
        self._states.clear()
        self.first, self._harmful = None, False


def _key(look: Look) -> tuple[int, int, int]:
    return look.operator, look.stack, look.node
