"""The facts of a recording, as the questions asked of it see them: each is read once, when the first one asks."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from gradscope.model.graph import Backward, Graph
from gradscope.model.operation import Block, Operation
from gradscope.store.asked import kept
from gradscope.store.facts import Facts
from gradscope.store.reader import Recording

_ASKED = 32  # facts that are known, between two looks at the clock: a look costs more than such a fact


class OutOfTime(Exception):
    """A question has taken too long."""


class Case(Facts):
    """The evidence: the facts of one recording, and what has been concluded from them so far.

    `clock` tells the seconds that were worked, not those that a busy machine let us wait.
    """

    def __init__(self, recording: Recording, clock: Callable[[], float] = time.thread_time) -> None:
        super().__init__(recording.tables)
        self.clock, self._until, self._asked = clock, math.inf, 0
        self.answers = {}
        self._recording = recording
        self._graphs: dict[int, Graph] = {}

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Let what is asked inside take so long; then OutOfTime is raised by the next fact or step of a walk."""
        self._until = self.clock() + seconds
        try:
            self.pace(new=True)
            yield
        finally:
            self._until = math.inf

    def pace(self, new: bool = False) -> None:
        """Raise OutOfTime once the time is over."""
        self._asked += 1
        if (new or self._asked % _ASKED == 0) and self.clock() > self._until:
            raise OutOfTime

    def graph(self, number: int) -> Graph:
        """The graph of one backward call that reached one."""
        self.pace(new=number not in self._graphs)
        if number not in self._graphs:
            self._graphs[number] = self._recording.graph(number)
        return self._graphs[number]

    @kept
    def blocks(self) -> tuple[Block, ...]:
        """The stretches of operators, in order."""
        return tuple(self._recording.blocks())

    def operators(self) -> Iterator[Operation]:
        """The operators of all stretches; those of stretches that are alike once."""
        for operations in {id(block.operations): block.operations for block in self.blocks()}.values():
            yield from operations

    def blocks_with(self, chosen: Callable[[Operation], bool]) -> Iterator[tuple[Block, tuple[Operation, ...]]]:
        """The stretches, in order, with their operators that are `chosen`; those that are alike are asked once."""
        known: dict[int, tuple[Operation, ...]] = {}
        for block in self.blocks():
            key = id(block.operations)
            if key not in known:
                known[key] = tuple(filter(chosen, block.operations))
            yield block, known[key]

    @kept
    def backwards_by_number(self) -> dict[int, Backward]:
        """The backward calls by number: the first ones may be missing."""
        return {call.number: call for call in self.backwards()}

    @kept
    def like(self) -> dict[int, int]:
        """For each backward call that reached a graph, the first one with the same nodes, lines and edges."""
        return {number: group[0] for group in self._recording.by_graph() for number in group}

    @kept
    def failed(self) -> tuple[Backward, ...]:
        """The backward calls that raised, caught by the program or not."""
        return tuple(call for call in self.backwards() if call.exception is not None)
