"""The facts of a recording, as the questions asked of it see them: each is read once, when the first one asks."""

from __future__ import annotations

from gradscope.model.graph import Backward, Graph
from gradscope.model.operation import Block
from gradscope.store.facts import Facts, kept
from gradscope.store.reader import Recording


class Case(Facts):
    """The evidence: the facts of one recording, and what has been concluded from them so far."""

    def __init__(self, recording: Recording) -> None:
        super().__init__(recording.tables)
        self.answers = {}
        self._recording = recording
        self._graphs: dict[int, Graph] = {}

    def graph(self, number: int) -> Graph:
        """The graph of one backward call that reached one."""
        if number not in self._graphs:
            self._graphs[number] = self._recording.graph(number)
        return self._graphs[number]

    @kept
    def blocks(self) -> tuple[Block, ...]:
        """The stretches of operators, in order."""
        return tuple(self._recording.blocks())

    @kept
    def backwards_by_number(self) -> dict[int, Backward]:
        """The backward calls by number: the first ones may be missing."""
        return {call.number: call for call in self.backwards()}

    @kept
    def failed(self) -> tuple[Backward, ...]:
        """The backward calls that raised, caught by the program or not."""
        return tuple(call for call in self.backwards() if call.exception is not None)
