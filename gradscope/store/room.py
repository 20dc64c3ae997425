"""Keeps a recording whose oldest steps go within bounds: on disk, and in memory, where its writer knows what is stored.

What is stored once is known by its id, and another thread may have asked for an id a moment ago without having pointed
at it: so nothing goes that was asked for since the last time that something went.
"""

from __future__ import annotations

from collections.abc import Callable

from gradscope.store.output import Output
from gradscope.store.retention import Gone

Tell = Callable[[Gone], None]  # content is about to go
_SHARE = 8  # of the steps go at a time
_ROOM = 16  # the share of the limit that is free afterwards
_OFTEN = 64  # steps that are given up before it is asked which content went with them


class Room:
    """What a file of at most `limit` bytes has left, and what can go when that is used up."""

    def __init__(self, limit: int | None) -> None:
        self._limit = limit
        self._growth = self._size = 0  # the most that came in one step, and what was in use when the last one ended
        self._more = self._seen = 0  # the same of the stretches between two looks, which may be parts of a step
        self._is_full = False
        self._given_up = 0  # steps, since content went last
        self._asked_for: dict[str, set[int]] | None = None  # ids, since then; None: nothing has to go

    def begin(self, output: Output) -> None:
        """The file is there, without a row: that is no growth."""
        self._size = self._seen = output.bytes()

    def holds(self, more: int) -> bool:
        """Whether so many bytes more may come."""
        return self._limit is None or self._size + more <= self._limit

    def ask_for(self, table: str, number: int) -> None:
        """Somebody is about to point at content."""
        if self._asked_for is not None:
            self._asked_for.setdefault(table, set()).add(number)

    def gave_up(self, steps: int) -> None:
        """So many steps went."""
        self._given_up += steps

    def is_full(self, output: Output) -> bool:
        """Whether nothing more may come, at any time: what comes until the next look might not fit."""
        if self._limit is None:
            return False
        size = output.bytes()
        self._more, self._seen = max(self._more, size - self._seen), size
        return self._is_full or self._more > output.room()

    def is_short(self, output: Output) -> bool:
        """Whether the next step might not fit, after one that has ended: room is kept for twice the largest."""
        if self._limit is None:
            return False
        size = output.bytes()
        self._growth, self._size = max(self._growth, size - self._size), size
        self._is_full = False
        return 2 * self._growth > output.room()

    def make(self, output: Output, tell: Tell) -> int:
        """Have the oldest steps go until there is room, or one is left; says how many went."""
        went = 0
        while more := output.forget_oldest(_SHARE):
            went += more
            self._drop(output, tell)
            if output.room() >= 2 * self._growth + (self._limit or 0) // _ROOM:
                break
        self._is_full = 2 * self._growth > output.room()
        return went

    def tidy(self, output: Output, tell: Tell) -> None:
        """Have content go that no step needs, when many steps went: that takes longer the more there is."""
        if self._asked_for is None and (self._given_up or self._limit is not None):
            self._asked_for = {}
        if self._given_up >= _OFTEN:
            self._drop(output, tell)

    def _drop(self, output: Output, tell: Tell) -> None:
        gone = output.unused(self._asked_for or {})
        self._asked_for, self._given_up = {}, 0
        tell(gone)  # first: what nobody knows any more can be missed by nobody
        output.delete(gone)
        output.commit()
        self._size = self._seen = output.bytes()
