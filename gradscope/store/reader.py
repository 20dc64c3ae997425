"""Reads a recording back as the model's nouns, without torch. Queries run when asked for, so that
`info` stays fast on any file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar, cast

from gradscope.errors import NothingCheckedError, UnreadableError, UsageError
from gradscope.model.birth import Arrival, Birth
from gradscope.model.compiled import Captured, CompiledRun
from gradscope.model.dispatch import StoredBackward
from gradscope.model.failure import Failure
from gradscope.model.flow import FlowEnd, FlowOperation, FlowTensor, Holder, LeafGradient, OptimizerLook, Survivors
from gradscope.model.function_fault import CapturedTensor, InputEdit, OnContext
from gradscope.model.graph import Backward, FunctionClass, Graph
from gradscope.model.hook import Hook, HookPlace
from gradscope.model.joint import Fact, Region
from gradscope.model.mutation import Declaration, HiddenWrite, Reused, Stale
from gradscope.model.notice import Notice
from gradscope.model.operation import Block
from gradscope.model.run import Census, Fault, Run
from gradscope.model.size import LeafSize
from gradscope.model.statistics import GradientStatistics, NodeRun
from gradscope.model.summary import Calls
from gradscope.model.tensor import StoredTensor
from gradscope.model.transform import Escaped, Transform
from gradscope.store import flow_reader
from gradscope.store.backward_reader import BackwardReader
from gradscope.store.birth_reader import read_arrivals, read_births, read_sizes
from gradscope.store.compiled_tables import read_captured, read_compiled_runs
from gradscope.store.dispatch_reader import read_stored, read_tensors
from gradscope.store.file import OpenFile, damage_is_one_sentence, open_file, show
from gradscope.store.function_reader import (
    read_captured_tensors,
    read_failing_functions,
    read_input_edits,
    read_on_context,
)
from gradscope.store.in_graphs import graph_sizes
from gradscope.store.interned import Interned
from gradscope.store.joint_tables import read_breaks, read_regions
from gradscope.store.measurements import read_gradients, read_node_runs
from gradscope.store.mutation_reader import read_declarations, read_hidden_writes, read_reused, read_stale
from gradscope.store.operation_reader import read_blocks
from gradscope.store.rows import INTEGER, MAYBE, TEXT, Rows
from gradscope.store.run_reader import read_calls, read_census, read_failures, read_faults, read_run
from gradscope.store.scrub import scrub
from gradscope.store.transform_reader import read_escaped, read_transforms

SUFFIX = ".gscope"

Method = TypeVar("Method", bound=Callable[..., Any])


def load(path: str | os.PathLike[str] | None = None) -> Recording:
    """Open a recording; without a path, the newest in $GRADSCOPE_DIR or the working directory."""
    return Recording(open_recording(path))


def open_recording(path: str | os.PathLike[str] | None) -> OpenFile:
    """The file of a recording; without a path, that of the newest."""
    return open_file(newest() if path is None else Path(path))


def newest() -> Path:
    """The recording that was written to last in $GRADSCOPE_DIR or the working directory."""
    folder = Path(os.environ.get("GRADSCOPE_DIR") or ".")
    found = [path for path in folder.glob(f"*{SUFFIX}") if path.is_file()]
    if not found:
        where = show(folder) if str(folder) != "." else "this directory"
        hint = "make one with `gradscope trace SCRIPT`, or name one"
        raise UnreadableError(f"there is no {SUFFIX} file in {where}", hint)
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


def _guarded(method: Method) -> Method:
    """Make damage met in a method one sentence."""

    @wraps(method)
    def guarded(self: Recording, *args: Any, **kwargs: Any) -> Any:
        with damage_is_one_sentence(self.path):
            return method(self, *args, **kwargs)

    return cast(Method, guarded)


class Recording:
    """An open recording; close it, or use it in a `with`."""

    def __init__(self, file: OpenFile) -> None:
        self._file = file
        self._rows = Rows(file.connection)
        self._interned = Interned(self._rows)
        self._backwards = BackwardReader(self._rows, self._interned)

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    @property
    def path(self) -> Path:
        """Where the recording lies."""
        return self._file.path

    @property
    def recovered(self) -> bool:
        """Whether the run was killed or still goes on, so that a private copy up to its last commit is read."""
        return self._file.recovered

    @_guarded
    def run(self) -> Run:
        """How and where the program ran."""
        return read_run(self._rows)

    @_guarded
    def census(self) -> Census:
        """How much of everything there is."""
        return read_census(self._rows, self._interned, self.path.stat().st_size)

    @_guarded
    def faults(self) -> tuple[Fault, ...]:
        """What went wrong inside gradscope while it recorded."""
        return read_faults(self._rows)

    @_guarded
    def failures(self) -> tuple[Failure, ...]:
        """The exceptions that nobody caught, in order."""
        return read_failures(self._rows, self._interned)

    @_guarded
    def calls(self, alike: bool = False) -> tuple[Calls, ...]:
        """The backward calls in short; with `alike`, those that differ in nothing but their number together."""
        return read_calls(self._rows, self._interned, alike)

    @_guarded
    def backwards(self) -> tuple[Backward, ...]:
        """Every backward call, by number."""
        return tuple(call.backward for call in self._backwards.calls())

    @_guarded
    def graph(self, number: int | None = None) -> Graph:
        """The graph of a backward call; without a number, of the last outermost call that reached one."""
        chosen = self._last() if number is None else self._known(number)
        return self._backwards.graph(self._backwards.call(chosen))

    @_guarded
    def by_graph(self) -> tuple[tuple[int, ...], ...]:
        """The numbers of the calls that reached a graph, those with the same graph together."""
        groups: dict[int, list[int]] = {}
        sql = "SELECT number, graph FROM backward WHERE graph IS NOT NULL ORDER BY number"
        for number, graph in self._rows.select(sql, (INTEGER, INTEGER)):
            groups.setdefault(graph, []).append(number)
        return tuple(tuple(group) for group in groups.values())

    def alike(self, number: int) -> tuple[int, ...]:
        """The numbers of the calls with the same graph as one of them."""
        return next((group for group in self.by_graph() if number in group), (number,))

    @_guarded
    def hooks(self) -> tuple[Hook, ...]:
        """Every hook that the run registered, by number."""
        return tuple(self._backwards.hooks())

    @_guarded
    def stale(self) -> tuple[Stale, ...]:
        """The saved tensors that a backward which raised found edited."""
        return read_stale(self._rows, self._interned)

    @_guarded
    def hidden_writes(self) -> tuple[HiddenWrite, ...]:
        """The writes to saved tensors that neither graph nor version shows."""
        return read_hidden_writes(self._rows, self._interned)

    @_guarded
    def reused(self) -> tuple[Reused, ...]:
        """The nodes of backward calls that raised which an earlier call had run."""
        return read_reused(self._rows)

    @_guarded
    def declarations(self) -> tuple[Declaration, ...]:
        """Where the modules that edit their input in place were built."""
        return read_declarations(self._rows, self._interned)

    @_guarded
    def failing_functions(self) -> tuple[FunctionClass, ...]:
        """The custom Functions out of whose apply an uncaught exception came."""
        return read_failing_functions(self._rows, self._interned)

    @_guarded
    def input_edits(self) -> tuple[InputEdit, ...]:
        """The writes to inputs in the forward of custom Functions."""
        return read_input_edits(self._rows, self._interned)

    @_guarded
    def captured_tensors(self) -> tuple[CapturedTensor, ...]:
        """The tensors that Functions captured while torch.func differentiated them."""
        return read_captured_tensors(self._rows, self._interned)

    @_guarded
    def on_context(self) -> tuple[OnContext, ...]:
        """The tensors that custom Functions held on their ctx where they were differentiated again."""
        return read_on_context(self._rows, self._interned)

    @_guarded
    def hook_places(self) -> tuple[HookPlace, ...]:
        """Where hooks hung, the first time of each line that registered one."""
        return self._backwards.places()

    @_guarded
    def hook_edits(self) -> tuple[HookPlace, ...]:
        """Where hooks edited a gradient, or a parameter, in place, the first time of each line that registered one."""
        return self._backwards.edits()

    @_guarded
    def hooks_never_fired(self) -> tuple[tuple[Hook, int], ...]:
        """The hooks that never fired, each with the first backward after its registration."""
        return self._backwards.never_fired()

    @_guarded
    def transforms(self) -> tuple[Transform, ...]:
        """Every distinct torch.func transform that ran, outer ones before inner ones."""
        return read_transforms(self._rows, self._interned)

    @_guarded
    def escaped(self) -> tuple[Escaped, ...]:
        """Tensors that outlived their transform."""
        return read_escaped(self._rows, self._interned)

    @_guarded
    def regions(self) -> tuple[Region, ...]:
        """The joint graphs of what torch.compile compiled (`trace --joint`)."""
        return read_regions(self._rows, self._interned)

    @_guarded
    def captured(self) -> tuple[Captured, ...]:
        """The backward calls that compiled autograd captured as graphs (`trace --compiled-autograd`)."""
        return read_captured(self._rows, self._interned)

    @_guarded
    def compiled_runs(self) -> tuple[CompiledRun, ...]:
        """The backward calls that ran under compiled autograd, in order (`trace --compiled-autograd`)."""
        return read_compiled_runs(self._rows, self._interned)

    @_guarded
    def graph_breaks(self) -> tuple[Fact, ...]:
        """Where torch.compile had to cut the program into several graphs (`trace --joint`)."""
        return read_breaks(self._rows, self._interned)

    def blocks(self) -> Iterator[Block]:
        """The stretches of operators, in order."""
        with damage_is_one_sentence(self.path):
            yield from read_blocks(self._rows, self._interned)

    @_guarded
    def graph_sizes(self) -> dict[int, int]:
        """How many nodes each backward call reached, by number."""
        return graph_sizes(self._rows)

    @_guarded
    def flow(self) -> tuple[FlowOperation, ...]:
        """The operators whose tensors were looked at: those of the first steps, and what was new later."""
        return tuple(flow_reader.read_flow(self._rows, read_blocks(self._rows, self._interned)))

    @_guarded
    def flow_tensors(self) -> tuple[FlowTensor, ...]:
        """The tensors that these operators read or made."""
        return tuple(flow_reader.read_tensors(self._rows, self._interned))

    @_guarded
    def flow_ends(self) -> tuple[FlowEnd, ...]:
        """The tensors that backward calls started from, and were asked for."""
        return tuple(flow_reader.read_ends(self._rows))

    @_guarded
    def optimizer_looks(self) -> tuple[OptimizerLook, ...]:
        """Optimizers just before some of their steps, and the gradients that they found."""
        return tuple(flow_reader.read_looks(self._rows, self._interned))

    @_guarded
    def leaf_gradients(self) -> tuple[LeafGradient, ...]:
        """The gradients that leaves held when a backward started."""
        return tuple(flow_reader.read_leaf_gradients(self._rows))

    @_guarded
    def survivors(self) -> tuple[Survivors, ...]:
        """The nodes that outlived their step."""
        return tuple(flow_reader.read_survivors(self._rows, self._interned))

    @_guarded
    def holders(self) -> tuple[Holder, ...]:
        """What holds tensors that such nodes made."""
        return tuple(flow_reader.read_holders(self._rows, self._interned))

    @_guarded
    def node_runs(self, number: int) -> tuple[NodeRun, ...]:
        """What the engine ran in a backward call, in order (`--detail full`)."""
        return tuple(read_node_runs(self._rows, number))

    @_guarded
    def gradients(self, number: int) -> tuple[GradientStatistics, ...]:
        """The gradients measured in a backward call (`--detail full`)."""
        return tuple(read_gradients(self._rows, number))

    @_guarded
    def tensors(self, number: int) -> tuple[StoredTensor, ...]:
        """The root gradients and saved tensors of a backward call whose bytes are stored (`trace --tensors`)."""
        return read_tensors(self._rows, self._interned, number)

    @_guarded
    def stored(self, number: int) -> StoredBackward:
        """What it takes to run an outermost backward call again (`trace --tensors`); empty when nothing was stored."""
        return read_stored(self._rows, self._interned, number)

    @_guarded
    def operators(self, number: int) -> tuple[tuple[int | None, str], ...]:
        """Node and name of each operator that ran inside a backward call, in order; quicker than its blocks."""
        sql = """SELECT node, name FROM block_run AS stretch JOIN operation ON operation.block = stretch.block
          WHERE backward = ? ORDER BY stretch.number, operation.number"""
        found = self._rows.select(sql, (INTEGER | MAYBE, INTEGER), number)
        return tuple((node, self._interned.string(name)) for node, name in found)

    @_guarded
    def nested(self, number: int) -> tuple[Backward, ...]:
        """The backward calls that started inside one, by number."""
        return tuple(call.backward for call in self._backwards.calls(number))

    @_guarded
    def births(self) -> tuple[Birth, ...]:
        """The operators that gave a NaN or Inf which arrived at a loss or gradient, or was the run's last."""
        return read_births(self._rows, self._interned)

    @_guarded
    def arrivals(self) -> tuple[Arrival, ...]:
        """The losses and gradients that were not finite."""
        return read_arrivals(self._rows, self._interned)

    @_guarded
    def sizes(self) -> tuple[LeafSize, ...]:
        """How large leaves and their gradients were, in a sample of the steps."""
        return read_sizes(self._rows, self._interned)

    @_guarded
    def notices(self) -> tuple[Notice, ...]:
        """What probes saw that says by itself what it means."""
        found = self._rows.select("SELECT what, stack FROM notice ORDER BY what, stack", (TEXT, INTEGER))
        return tuple(Notice(what, self._interned.stack(stack)) for what, stack in found)

    @_guarded
    def source(self, file: str) -> str | None:
        """The whole text of one of the user's files, if the recording has it."""
        sql = "SELECT id, text FROM string WHERE id IN (SELECT file FROM source)"
        number = next((number for number, text in self._rows.select(sql, (INTEGER, TEXT)) if text == file), None)
        return None if number is None else self._interned.source(number)

    def scrub(self, output: Path) -> None:
        """Write a copy without sources, paths, arguments and environment. Raises UsageError when that cannot be."""
        scrub(self._file.connection, self.path, output)

    @_guarded
    def sources(self) -> dict[str, str]:
        """The text of every file of the user's that the recording holds, by name."""
        sql = "SELECT string.text, source.text FROM source JOIN string ON string.id = source.file ORDER BY source.file"
        return dict(self._rows.select(sql, (TEXT, TEXT)))

    def _last(self) -> int:
        sql = "SELECT number, graph FROM backward ORDER BY graph IS NULL, nested_in IS NOT NULL, number DESC LIMIT 1"
        for number, graph in self._rows.select(sql, (INTEGER, INTEGER | MAYBE)):
            if graph is not None:
                return int(number)
            sentence = "no backward call in this recording reached a graph: each raised before it started"
            raise NothingCheckedError(sentence, "see `gradscope info` for what they raised")
        sentence = "this recording holds no backward call: nothing called .backward() or autograd.grad while it ran"
        raise NothingCheckedError(sentence, "see `gradscope info` for how the run ended and what was dropped")

    def _known(self, number: int) -> int:
        sql = "SELECT graph FROM backward WHERE number = ?"
        found = [graph for (graph,) in self._rows.select(sql, (INTEGER | MAYBE,), number)]
        if found == [None]:
            raise NothingCheckedError(f"backward {number} reached no graph: it raised before it started")
        if not found:
            self._last()
            first = self._rows.number("SELECT min(number) FROM backward")
            last = self._rows.number("SELECT max(number) FROM backward")
            raise UsageError(f"there is no backward {number} in this recording, which holds {first} to {last}")
        return number
