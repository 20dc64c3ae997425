"""What a recording tells about a run that went wrong. Each fact is read when a question asks for it, and once."""

from __future__ import annotations

from functools import cached_property

from gradscope.explain.deductions.graph_cuts import Lost
from gradscope.explain.deductions.missing_gradients import find, silent
from gradscope.explain.deductions.optimizer_parameters import Holdings, holdings
from gradscope.explain.evidence.dataflow import Flow
from gradscope.explain.evidence.syntax import Sources
from gradscope.model.birth import Arrival, Birth
from gradscope.model.failure import Failure
from gradscope.model.flow import Holder, LeafGradient, OptimizerLook, Survivors
from gradscope.model.function_fault import CapturedTensor, InputEdit, OnContext
from gradscope.model.graph import Backward, FunctionClass, Graph
from gradscope.model.hook import Hook, HookPlace
from gradscope.model.mutation import Declaration, HiddenWrite, Reused, Stale
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
    def backwards_by_number(self) -> dict[int, Backward]:
        """The backward calls by number: the first ones may be missing."""
        return {call.number: call for call in self.backwards}

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
    def stale(self) -> tuple[Stale, ...]:
        """The saved tensors that a failed backward found edited."""
        return self.recording.stale()

    @cached_property
    def hidden_writes(self) -> tuple[HiddenWrite, ...]:
        """The edits of saved tensors that autograd did not see."""
        return self.recording.hidden_writes()

    @cached_property
    def failing_functions(self) -> tuple[FunctionClass, ...]:
        """The custom Functions out of whose apply an uncaught exception came."""
        return self.recording.failing_functions()

    @cached_property
    def input_edits(self) -> tuple[InputEdit, ...]:
        """The writes to inputs in the forward of custom Functions."""
        return self.recording.input_edits()

    @cached_property
    def captured_tensors(self) -> tuple[CapturedTensor, ...]:
        """The tensors that custom Functions captured while torch.func differentiated them."""
        return self.recording.captured_tensors()

    @cached_property
    def on_context(self) -> tuple[OnContext, ...]:
        """The tensors that custom Functions held on their ctx where they were differentiated again."""
        return self.recording.on_context()

    @cached_property
    def hook_places(self) -> tuple[HookPlace, ...]:
        """Where hooks hung, the first time of each line that registered one."""
        return self.recording.hook_places()

    @cached_property
    def hook_edits(self) -> tuple[HookPlace, ...]:
        """Where hooks edited what they got in place, the first time of each line that registered one."""
        return self.recording.hook_edits()

    @cached_property
    def hooks_never_fired(self) -> tuple[tuple[Hook, int], ...]:
        """The hooks that never fired, each with the first backward after its registration."""
        return self.recording.hooks_never_fired()

    @cached_property
    def reused(self) -> tuple[Reused, ...]:
        """The nodes of failed backward calls that an earlier one had run."""
        return self.recording.reused()

    @cached_property
    def declarations(self) -> tuple[Declaration, ...]:
        """Where the modules that edit their input in place were built."""
        return self.recording.declarations()

    @cached_property
    def sources(self) -> dict[str, str]:
        """The text of every file of the user's that the recording holds, by name."""
        return self.recording.sources()

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
    def graph_sizes(self) -> dict[int, int]:
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
    def syntax(self) -> Sources:
        """The syntax of the user's files."""
        return Sources(self.recording)

    def graph(self, number: int) -> Graph:
        """The graph of one backward call that reached one."""
        if number not in self._graphs:
            self._graphs[number] = self.recording.graph(number)
        return self._graphs[number]
