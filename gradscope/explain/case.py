"""What a recording tells about a run that went wrong. Each fact is read when a question asks for it, and once."""

from __future__ import annotations

from functools import cached_property

from gradscope.explain.cuts import Lost
from gradscope.explain.flow import Flow
from gradscope.explain.held import Holdings, holdings
from gradscope.explain.lost import find, silent
from gradscope.explain.source import Sources
from gradscope.model.failure import Failure
from gradscope.model.flow import Holder, LeafGradient, OptimizerLook, Survivors
from gradscope.model.graph import Backward, Graph
from gradscope.model.hook import Hook
from gradscope.model.operation import Block
from gradscope.model.run import Run
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
    def flow(self) -> Flow:
        """The way of tensors through the operators that were looked at."""
        return Flow(self.recording.flow(), self.recording.flow_tensors(), self.recording.flow_ends())

    @cached_property
    def looks(self) -> tuple[OptimizerLook, ...]:
        """Optimizers just before some of their steps."""
        return self.recording.optimizer_looks()

    @cached_property
    def leaf_gradients(self) -> tuple[LeafGradient, ...]:
        """The gradients that leaves held when a backward started."""
        return self.recording.leaf_gradients()

    @cached_property
    def sizes(self) -> dict[int, int]:
        """How many nodes each backward call reached."""
        return self.recording.graph_sizes()

    @cached_property
    def survivors(self) -> tuple[Survivors, ...]:
        """The nodes that outlived their step."""
        return self.recording.survivors()

    @cached_property
    def holders(self) -> tuple[Holder, ...]:
        """What holds tensors that such nodes made."""
        return self.recording.holders()

    @cached_property
    def lost(self) -> tuple[Lost, ...]:
        """The gradients that never arrive, by cause."""
        return find(self)

    @cached_property
    def silent_tensors(self) -> frozenset[int]:
        """The parameters whose gradient no look at an optimizer has seen."""
        return frozenset(one.held.tensor for one in silent(self))

    @cached_property
    def holdings(self) -> Holdings:
        """Which parameters optimizers hold, against those that the loss reached."""
        return holdings(self)

    @cached_property
    def sources(self) -> Sources:
        """The syntax of the user's files."""
        return Sources(self.recording)

    def graph(self, number: int) -> Graph:
        """The graph of one backward call that reached one."""
        if number not in self._graphs:
            self._graphs[number] = self.recording.graph(number)
        return self._graphs[number]
