"""What a recording tells about a run that went wrong. Each fact is read when a question asks for it, and once."""

from __future__ import annotations

from functools import cached_property

from gradscope.model.birth import Arrival, Birth
from gradscope.model.failure import Failure
from gradscope.model.graph import Backward, Graph
from gradscope.model.hook import Hook
from gradscope.model.notice import Notice
from gradscope.model.operation import Block
from gradscope.model.run import Run
from gradscope.model.size import LeafSize
from gradscope.store.reader import Recording


class Case:
    """The evidence: one recording, and what the questions asked of it so far."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._graphs: dict[int, Graph] = {}

    @cached_property
    def run(self) -> Run:
        """How the program ran."""
        return self.recording.run()

    @cached_property
    def failures(self) -> tuple[Failure, ...]:
        """The exceptions that nobody caught, the main thread's last."""
        return self.recording.failures()

    @cached_property
    def backwards(self) -> tuple[Backward, ...]:
        """Every backward call, by number."""
        return self.recording.backwards()

    @cached_property
    def failed(self) -> tuple[Backward, ...]:
        """The backward calls that raised, caught by the program or not."""
        return tuple(call for call in self.backwards if call.exception is not None)

    @cached_property
    def hooks(self) -> tuple[Hook, ...]:
        """Every hook that was registered."""
        return self.recording.hooks()

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The stretches of operators, in order."""
        return tuple(self.recording.blocks())

    @cached_property
    def births(self) -> tuple[Birth, ...]:
        """The operators that gave a NaN or Inf which did harm, or was the run's last."""
        return self.recording.births()

    @cached_property
    def arrivals(self) -> tuple[Arrival, ...]:
        """The losses and gradients that were not finite."""
        return self.recording.arrivals()

    @cached_property
    def notices(self) -> tuple[Notice, ...]:
        """What probes saw that says by itself what it means."""
        return self.recording.notices()

    @cached_property
    def sizes(self) -> tuple[LeafSize, ...]:
        """How large leaves and their gradients were, in a sample of the steps."""
        return self.recording.sizes()

    def graph(self, number: int) -> Graph:
        """The graph of one backward call that reached one."""
        if number not in self._graphs:
            self._graphs[number] = self.recording.graph(number)
        return self._graphs[number]
