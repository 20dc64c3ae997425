"""The facts of a recording: what can be asked of it without naming one of its backward calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gradscope.store.asked import Asked, fact
from gradscope.store.file import damage_is_one_sentence
from gradscope.store.in_graphs import graph_sizes, read_reached_leaves
from gradscope.store.mutation_reader import read_declarations, read_hidden_writes, read_reused, read_stale
from gradscope.store.rows import INTEGER, TEXT
from gradscope.store.run_reader import read_census, read_failures, read_faults, read_missing_grads, read_run
from gradscope.store.size_reader import read_node_sizes, read_sizes
from gradscope.store.training_reader import read_intervals, read_learning_rates, read_losses, read_scales, read_updates

if TYPE_CHECKING:
    from gradscope.model.birth import Arrival, Birth
    from gradscope.model.call import RecordedCall
    from gradscope.model.compiled import Captured, CompiledRun
    from gradscope.model.failure import Failure, MissingGrad
    from gradscope.model.flow import FlowEnd, FlowOperation, FlowTensor, Holder, LeafGradient, OptimizerLook, Survivors
    from gradscope.model.function_fault import CapturedTensor, InputEdit, OnContext
    from gradscope.model.graph import Backward, FunctionClass
    from gradscope.model.hook import Hook, HookPlace
    from gradscope.model.joint import Fact, Region
    from gradscope.model.mutation import Declaration, HiddenWrite, Reused, Stale
    from gradscope.model.notice import Notice
    from gradscope.model.run import Census, Fault, Run
    from gradscope.model.size import LeafSize
    from gradscope.model.training import Interval, LearningRate, Update
    from gradscope.model.transform import Escaped, Transform


class Facts(Asked):
    """What a recording tells, each fact read from the file when it is asked for, and what reads it loaded then."""

    @fact
    def run(self) -> Run:
        """How and where the program ran."""
        return read_run(self._rows)

    @fact
    def census(self) -> Census:
        """How much of everything there is."""
        return read_census(self._rows, self._interned, self.path.stat().st_size)

    @fact
    def faults(self) -> tuple[Fault, ...]:
        """What went wrong inside gradscope while it recorded."""
        return read_faults(self._rows)

    @fact
    def missing_grads(self) -> tuple[MissingGrad, ...]:
        """The tensors whose .grad was None where the program failed for that."""
        return read_missing_grads(self._rows, self._interned)

    @fact
    def failures(self) -> tuple[Failure, ...]:
        """The exceptions that nobody caught, in order."""
        return read_failures(self._rows, self._interned)

    @fact
    def backwards(self) -> tuple[Backward, ...]:
        """Every backward call, by number."""
        return tuple(call.backward for call in self._backwards.calls())

    @fact
    def hooks(self) -> tuple[Hook, ...]:
        """Every hook that the run registered, by number."""
        return tuple(self._backwards.hooks())

    def hooks_at(self, backward: int) -> tuple[Hook, ...]:
        """The hooks that were there when a backward began, by number."""
        with damage_is_one_sentence(self.path):
            return tuple(self._backwards.hooks_at(backward))

    @fact
    def stale(self) -> tuple[Stale, ...]:
        """The saved tensors that a backward which raised found edited."""
        return read_stale(self._rows, self._interned)

    @fact
    def hidden_writes(self) -> tuple[HiddenWrite, ...]:
        """The writes to saved tensors that neither graph nor version shows."""
        return read_hidden_writes(self._rows, self._interned)

    @fact
    def reused(self) -> tuple[Reused, ...]:
        """The nodes of backward calls that raised which an earlier call had run."""
        return read_reused(self._rows)

    @fact
    def declarations(self) -> tuple[Declaration, ...]:
        """Where torch's own modules, and those that edit their input in place, were built."""
        return read_declarations(self._rows, self._interned)

    @fact
    def functions(self) -> tuple[FunctionClass, ...]:
        """The custom Functions behind nodes."""
        from gradscope.store.function_reader import read_functions

        return read_functions(self._rows, self._interned)

    @fact
    def function_calls(self) -> dict[str, tuple[RecordedCall, ...]]:
        """How custom Functions were called, each kind of call once, by the Function's name."""
        from gradscope.store.calls import read_all_calls

        found: dict[str, tuple[RecordedCall, ...]] = {}
        for call in read_all_calls(self._rows, self.path):
            found[call.function] = (*found.get(call.function, ()), call)
        return found

    @fact
    def failing_functions(self) -> tuple[FunctionClass, ...]:
        """The custom Functions out of whose apply an uncaught exception came."""
        from gradscope.store.function_reader import read_failing_functions

        return read_failing_functions(self._rows, self._interned)

    @fact
    def input_edits(self) -> tuple[InputEdit, ...]:
        """The writes to inputs in the forward of custom Functions."""
        from gradscope.store.function_reader import read_input_edits

        return read_input_edits(self._rows, self._interned)

    @fact
    def captured_tensors(self) -> tuple[CapturedTensor, ...]:
        """The tensors that Functions captured while torch.func differentiated them."""
        from gradscope.store.function_reader import read_captured_tensors

        return read_captured_tensors(self._rows, self._interned)

    @fact
    def on_context(self) -> tuple[OnContext, ...]:
        """The tensors that custom Functions held on their ctx where they were differentiated again."""
        from gradscope.store.function_reader import read_on_context

        return read_on_context(self._rows, self._interned)

    @fact
    def hook_places(self) -> tuple[HookPlace, ...]:
        """Where hooks hung, the first time of each line that registered one."""
        return self._backwards.places()

    @fact
    def hook_edits(self) -> tuple[HookPlace, ...]:
        """Where hooks edited a gradient, or a parameter, in place, the first time of each line that registered one."""
        return self._backwards.edits()

    @fact
    def hooks_last_fired(self) -> tuple[tuple[HookPlace, int], ...]:
        """The hooks of the last backward that ran any, each with the number of the first that it was there for."""
        return self._backwards.last_fired()

    @fact
    def hooks_never_fired(self) -> tuple[tuple[Hook, int], ...]:
        """The hooks that never fired, each with the first backward after its registration."""
        return self._backwards.never_fired()

    @fact
    def second_names(self) -> dict[str, str]:
        """The names in use of parameters that have several, by the others."""
        found = self._rows.select("SELECT other, name FROM second_name", (INTEGER, INTEGER))
        return {self._interned.string(other): self._interned.string(name) for other, name in found}

    @fact
    def transforms(self) -> tuple[Transform, ...]:
        """Every distinct torch.func transform that ran, outer ones before inner ones."""
        from gradscope.store.transform_reader import read_transforms

        return read_transforms(self._rows, self._interned)

    @fact
    def escaped(self) -> tuple[Escaped, ...]:
        """Tensors that outlived their transform."""
        from gradscope.store.transform_reader import read_escaped

        return read_escaped(self._rows, self._interned)

    @fact
    def regions(self) -> tuple[Region, ...]:
        """The joint graphs of what torch.compile compiled (`trace --joint`)."""
        from gradscope.store.joint_tables import read_regions

        return read_regions(self._rows, self._interned)

    @fact
    def captured(self) -> tuple[Captured, ...]:
        """The backward calls that compiled autograd captured as graphs (`trace --compiled-autograd`)."""
        from gradscope.store.compiled_tables import read_captured

        return read_captured(self._rows, self._interned)

    @fact
    def compiled_runs(self) -> tuple[CompiledRun, ...]:
        """The backward calls that ran under compiled autograd, in order (`trace --compiled-autograd`)."""
        from gradscope.store.compiled_tables import read_compiled_runs

        return read_compiled_runs(self._rows, self._interned)

    @fact
    def graph_breaks(self) -> tuple[Fact, ...]:
        """Where torch.compile had to cut the program into several graphs (`trace --joint`)."""
        from gradscope.store.joint_tables import read_breaks

        return read_breaks(self._rows, self._interned)

    @fact
    def graph_sizes(self) -> dict[int, int]:
        """How many nodes each backward call reached, by number."""
        return graph_sizes(self._rows)

    @fact
    def flow(self) -> tuple[FlowOperation, ...]:
        """The operators whose tensors were looked at: those of the first steps, and what was new later."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_flow(self._rows, self._interned))

    @fact
    def flow_tensors(self) -> tuple[FlowTensor, ...]:
        """The tensors that these operators read or made."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_tensors(self._rows, self._interned))

    @fact
    def flow_ends(self) -> tuple[FlowEnd, ...]:
        """The tensors that backward calls started from, and were asked for."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_ends(self._rows))

    @fact
    def reached_leaves(self) -> frozenset[str]:
        """The names of the leaves that any backward() reached, which accumulates; grad() does not."""
        return read_reached_leaves(self._rows, self._interned)

    @fact
    def optimizer_looks(self) -> tuple[OptimizerLook, ...]:
        """Optimizers just before some of their steps, and the gradients that they found."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_looks(self._rows, self._interned))

    @fact
    def leaf_gradients(self) -> tuple[LeafGradient, ...]:
        """The gradients that leaves held when a backward started."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_leaf_gradients(self._rows))

    @fact
    def intervals(self) -> tuple[Interval, ...]:
        """The calls by which the program trains, between its backward calls."""
        return tuple(read_intervals(self._rows, self._interned))

    @fact
    def learning_rates(self) -> tuple[LearningRate, ...]:
        """The learning rates of optimizers, where they change."""
        return tuple(read_learning_rates(self._rows))

    @fact
    def losses(self) -> dict[int, float]:
        """The values that backward calls started from, where these were one number, by the call's number."""
        return read_losses(self._rows)

    @fact
    def scales(self) -> dict[int, float]:
        """The factors of scalers that stepped after backward calls, by the call's number."""
        return read_scales(self._rows)

    @fact
    def updates(self) -> tuple[Update, ...]:
        """How much some steps changed each parameter."""
        return tuple(read_updates(self._rows, self._interned))

    @fact
    def survivors(self) -> tuple[Survivors, ...]:
        """The nodes that outlived their step."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_survivors(self._rows, self._interned))

    @fact
    def holders(self) -> tuple[Holder, ...]:
        """What holds tensors that such nodes made."""
        from gradscope.store import flow_reader

        return tuple(flow_reader.read_holders(self._rows, self._interned))

    @fact
    def births(self) -> tuple[Birth, ...]:
        """The operators that gave a NaN or Inf which arrived at a loss or gradient, or was the run's last."""
        from gradscope.store.birth_reader import read_births

        return read_births(self._rows, self._interned)

    @fact
    def leaps(self) -> tuple[Birth, ...]:
        """The operators of a backward that made a vast number, finite still, of small ones."""
        from gradscope.store.birth_reader import read_leaps

        return read_leaps(self._rows, self._interned)

    @fact
    def arrivals(self) -> tuple[Arrival, ...]:
        """The losses and gradients that were not finite."""
        from gradscope.store.birth_reader import read_arrivals

        return read_arrivals(self._rows, self._interned)

    @fact
    def sizes(self) -> tuple[LeafSize, ...]:
        """How large leaves and their gradients were, in a sample of the steps."""
        return read_sizes(self._rows, self._interned)

    @fact
    def node_sizes(self) -> dict[int, dict[int, float]]:
        """The largest magnitude of what some nodes received, by backward and node, in a sample of the steps."""
        return read_node_sizes(self._rows)

    @fact
    def notices(self) -> tuple[Notice, ...]:
        """What probes noticed that needs no further evidence."""
        from gradscope.model.notice import Notice

        found = self._rows.select("SELECT what, stack FROM notice ORDER BY what, stack", (TEXT, INTEGER))
        return tuple(Notice(what, self._interned.stack(stack)) for what, stack in found)

    @fact
    def sources(self) -> dict[str, str]:
        """The text of every file of the user's that the recording holds, by name."""
        sql = "SELECT string.text, source.text FROM source JOIN string ON string.id = source.file ORDER BY source.file"
        return dict(self._rows.select(sql, (TEXT, TEXT)))
