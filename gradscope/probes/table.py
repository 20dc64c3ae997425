"""The probes of a recording, one line each: a new one is a file in its room, and a line here.

Order carries meaning, twice. Probes are entered in the order of ENTERED and left in reverse; those of AT_BACKWARDS are
told of each backward call in that order, when it begins and again when it ends. A probe that does both is in both. The
orders show in the recording, too: what is interned is numbered as it comes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gradscope.model.detail import Detail
from gradscope.probes.core.collectives import Collectives
from gradscope.probes.core.context import Context, Options
from gradscope.probes.core.thread_starts import ThreadStarts
from gradscope.probes.core.traceback_filter import TracebackFilter
from gradscope.probes.functions.arguments import FunctionArguments
from gradscope.probes.functions.context_tensors import ContextTensors
from gradscope.probes.functions.transforms import Transforms
from gradscope.probes.graph.leaked_nodes import LeakedNodes
from gradscope.probes.graph.node_creation import node_creation
from gradscope.probes.graph.node_times import NodeTimes
from gradscope.probes.graph.uncaught_exceptions import UncaughtExceptions
from gradscope.probes.hooks.ddp_reducer import Reducers
from gradscope.probes.hooks.recorder import HookRecorder
from gradscope.probes.modules.calls import ModuleCalls
from gradscope.probes.modules.module_builds import ModuleBuilds
from gradscope.probes.nonfinite.gradient_norms import GradientNorms
from gradscope.probes.nonfinite.gradients_over_time import GradientsOverTime
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.losses import Losses
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.operators.gradient_buffers import GradientBuffers
from gradscope.probes.operators.inplace_writes import InplaceWrites
from gradscope.probes.operators.missing_grads import MissingGrads
from gradscope.probes.operators.optimizers import Optimizers
from gradscope.probes.operators.plain_states import PlainStates
from gradscope.probes.operators.recorder import OperatorRecorder
from gradscope.probes.operators.repeated_backwards import RepeatedBackwards
from gradscope.probes.operators.tensor_data import TensorData
from gradscope.probes.tensors.held_leaves import HeldLeaves
from gradscope.probes.tensors.swapped_tensors import SwappedTensors
from gradscope.probes.training.calls import TrainingCalls
from gradscope.probes.training.step_hooks import StepHooks
from gradscope.probes.training.updates import Updates

NODES, OPS, FULL = Detail


def _always(options: Options) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class ProbeEntry:
    """A probe: its name among the faults, what builds it, the least detail it belongs to, the capabilities of torch
    without which it is left out, and when else it is wanted."""

    name: str
    probe: Callable[[Context], Any]
    detail: Detail = NODES
    needs: tuple[str, ...] = ()
    when: Callable[[Options], bool] = _always

    def is_wanted(self, options: Options) -> bool:
        """Whether a recording with these options has it."""
        return options.detail.has(self.detail) and options.has(*self.needs) and self.when(options)


def _traceback_filter(context: Context) -> TracebackFilter:
    return TracebackFilter(context.get(UncaughtExceptions).note)


def _without_operators(options: Options) -> bool:
    """Where operators are seen, collectives are seen among them."""
    return not options.detail.has(OPS)


def _watches_no_repeats(options: Options) -> bool:
    return not options.watch_all


def _stores_tensors(options: Options) -> bool:
    return options.tensors is not None


ENTERED = (
    ProbeEntry("tracebacks", _traceback_filter, NODES, ("tracebacks",)),
    ProbeEntry("modules", ModuleCalls, NODES, ("module calls",)),
    ProbeEntry("swapped tensors", SwappedTensors, NODES, ("swaps",)),
    ProbeEntry("transforms", Transforms, NODES, ("transforms",)),
    ProbeEntry("custom Functions", FunctionArguments, NODES, ("custom Functions",)),
    ProbeEntry("nodes", node_creation),
    ProbeEntry("hooks", HookRecorder, NODES, ("hooks",)),
    ProbeEntry("reducers", Reducers, NODES, ("hooks", "reducers")),
    ProbeEntry("non-finite values", NonfiniteOnHost, OPS),
    ProbeEntry("module builds", ModuleBuilds, OPS),
    ProbeEntry("optimizer steps", StepHooks, OPS),
    ProbeEntry("optimizers", Optimizers, OPS),
    ProbeEntry("training calls", TrainingCalls, OPS, ("training calls",)),
    ProbeEntry("updates", Updates, OPS),
    ProbeEntry("missing grads", MissingGrads, OPS, ("tracebacks",)),
    ProbeEntry("held leaves", HeldLeaves, OPS),
    # Last of this detail: operators are seen from here on. It is left first, and closes the open blocks before the
    # others write what they know at the end.
    ProbeEntry("operations", OperatorRecorder, OPS),
    ProbeEntry("collectives", Collectives, NODES, ("collectives",), _without_operators),
    # After those that are entered in each thread that begins.
    ProbeEntry("threads", ThreadStarts, NODES, ("threads",)),
)

AT_BACKWARDS = (
    # Before the others hang hooks of ours on nodes.
    ProbeEntry("hooks", HookRecorder, NODES, ("hooks",)),
    ProbeEntry("reducers", Reducers, NODES, ("hooks", "reducers")),
    # Stops hearing operators where it must: the rest goes by whether they are heard.
    ProbeEntry("gradient buffers", GradientBuffers, OPS),
    # Closes the forward's block before the others look at what ran in it.
    ProbeEntry("operations", OperatorRecorder, OPS),
    ProbeEntry("in-place writes", InplaceWrites, OPS),
    ProbeEntry("context tensors", ContextTensors, OPS),
    ProbeEntry("module builds", ModuleBuilds, OPS),
    ProbeEntry("non-finite values", NonfiniteOnHost, OPS),
    ProbeEntry("losses", Losses, OPS),
    ProbeEntry("gradient norms", GradientNorms, OPS),
    ProbeEntry("gradients over time", GradientsOverTime, OPS),
    # Before what it looks at is followed no more.
    ProbeEntry("plain states", PlainStates, OPS),
    ProbeEntry("dataflow", Dataflow, OPS),
    ProbeEntry("optimizers", Optimizers, OPS),
    ProbeEntry("leaked nodes", LeakedNodes, OPS),
    ProbeEntry("held leaves", HeldLeaves, OPS),
    ProbeEntry("training calls", TrainingCalls, OPS, ("training calls",)),
    # After all others of this detail: it goes by what they have found before a call.
    ProbeEntry("repeats", RepeatedBackwards, OPS, ("repeats", "hooks"), _watches_no_repeats),
    ProbeEntry("values", NodeTimes, FULL),
    ProbeEntry("tensors", TensorData, NODES, (), _stores_tensors),
)
