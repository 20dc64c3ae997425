"""Sees every operator below autograd: its name, line, module call, the backward node it runs in, and what it writes.

The surprise: an operator's node is made before the operator is dispatched, so each operator claims the nodes that its
thread has made since the one before.
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
import time
from array import array
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_collective
from gradscope.probes.core.context import Context
from gradscope.probes.core.digest import digest
from gradscope.probes.core.module_call import InternedCalls, RunningModuleCall
from gradscope.probes.core.node_token import KEY, Token, token_of
from gradscope.probes.core.operator import Operator, Write
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import Gone, store
from gradscope.probes.core.thread_state import BLOCK, Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.operator_risk import (
    CLOSELY,
    FORWARD,
    always,
    copies,
    harmless_of,
    is_foreseen,
    look_of,
)
from gradscope.probes.nonfinite.operator_signs import NORMALISES
from gradscope.probes.operators import torch_function_classes
from gradscope.probes.operators.blocks import (
    MODE,
    NO_GRAD,
    PLAIN,
    WRITE,
    Places,
    enter_call,
    numbered,
    places_of,
    rows_of,
)
from gradscope.probes.operators.call_sites import CallSites, warns_where_it_is_called
from gradscope.probes.operators.collective_calls import CollectiveCalls
from gradscope.probes.operators.collective_runs import CollectiveRuns
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.operators.hearing import Hearing
from gradscope.probes.operators.inplace_writes import InplaceWrites
from gradscope.probes.tensors import accelerators
from gradscope.probes.tensors.is_leaf import is_leaf
from gradscope.torch_internals.dispatch_key import below, call_as, looks_away, operator_of, pass_on, runner, switch
from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import bound
from gradscope.torch_internals.guards import no_dispatch, unprofiled
from gradscope.torch_internals.running import current_node

_REMEMBERED = 64  # blocks kept to compare with: two for each of the graphs that are remembered
_COPY, _COPIES = "aten.copy_.default", "aten._foreach_copy_.default"


class OperatorRecorder(Watcher):
    """Records operators in blocks: from one backward call to the next, and inside each."""

    probe = "operations"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._names, self._faults, self._steps = context.names, context.faults, context.steps
        self._inplace_writes, self._nonfinite = context.get(InplaceWrites), context.get(NonfiniteOnHost)
        self._dataflow, self._calls = context.get(Dataflow), InternedCalls(context.sink)
        self._meeting = CollectiveRuns(context, self.close)
        self._collectives = context.get(CollectiveCalls)
        self._exchanged = self._collectives.exchanged
        self._known = context.operators  # by the dispatcher's name
        self._started = context.started
        self._remembered: deque[tuple[list[int], Places, int]] = deque(maxlen=_REMEMBERED)
        self._turn = threading.RLock()  # the engine's own threads' blocks are closed by the calls that they worked for
        self._block_runs = itertools.count()  # several threads may close blocks at the same time
        self._dispatching = Hearing(self._dispatch())
        context.faults.switch(self.probe, self._switch_off)
        self._overriding, self._note_writes = False, self._written
        if torch_function_classes.is_there_one():
            self._override()
        self._off = False  # our key may outlive the recording: in threads that still run
        self.threads: list[Thread] = []  # that have noted an operator
        self.unforeseen: set[int] = set()  # names of operators that make a backward differ from one like it
        self._block_closed = context.events.block_closed
        context.events.step_begins.append(self.follow)
        context.events.content_gone.append(self._forget)
        context.events.thread_begins.append(self.in_thread)

    def __enter__(self) -> OperatorRecorder:
        skip_methods(OperatorRecorder)
        self._dispatching.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._turn = threading.RLock()  # in a forked child, a thread that is not there any more may hold the other
        self._off = True
        self._dispatching.__exit__()
        for thread in self.threads:
            self.close(thread)
        self._dataflow.release()

    def _switch_off(self) -> None:
        self._off = True

    def _forget(self, gone: Gone) -> None:
        left = [one for one in tuple(self._remembered) if one[2] not in gone["block"]]
        self._remembered = deque(left, maxlen=_REMEMBERED)

    @contextmanager
    def in_thread(self) -> Iterator[None]:
        """See the operators of a thread that begins: modes are each thread's own."""
        with self._dispatching.in_thread():
            yield
        if not self._off:
            self.close(self._threads.current)

    def follow(self, recorded: bool) -> None:
        """Take this thread's mode off while nothing is recorded: it costs most of what recording operators does."""
        self._dispatching.follow(recorded)

    def is_alone(self) -> bool:
        """Whether this thread's operators are seen, and by no other dispatch mode."""
        return self._dispatching.is_alone()

    def pause(self) -> bool:
        """See no operators of this thread for a moment; False when that cannot be."""
        return self._dispatching.pause()

    def resume(self) -> None:
        """See them again."""
        self._dispatching.resume()

    def repeat(self, thread: Thread, call: BackwardCall, blocks: list[int]) -> None:
        """Write that a backward which was not watched has run the blocks of those that it repeats."""
        for block in blocks:
            started = call.started - self._started
            row = (next(self._block_runs), block, thread.number, call.number, started, None, False)
            self._sink.add("block_run", row)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Close the forward's block."""
        self.close(thread)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Close the backward's blocks. A failed one's other threads may not have come to an end: they will see."""
        self.close(thread)
        if not call.failed:
            for other in list(self._threads.tasks.threads.values()):
                with self._turn:
                    if other.owner is call:
                        self.close(other)

    def _dispatch(self) -> Any:
        """The mode's function: hot, so what it uses is bound here, and nothing that it makes outlives it."""
        threads, steps, faults, known = self._threads, self._steps, self._faults, self._known
        describe, note, getframe = self._describe, self._noting(), sys._getframe
        if warns_where_it_is_called():
            call_as(CallSites().from_the_program)
        nonfinite, look, dataflow = self._nonfinite, self._nonfinite.look, self._dataflow

        def dispatch(name: str, keys: Any, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
            if self._off or looks_away():
                return pass_on(name, keys, arguments, keywords)
            try:
                switch(False)  # neither what it runs inside nor what we do is heard
                found, frame = None, getframe(1).f_back  # none on the engine's own threads
                try:
                    found = known.get(name) or describe(name)
                    thread = threads.current
                    if thread.busy:
                        pass
                    elif not steps.recorded:
                        thread.pending.clear()
                    else:
                        note(found, thread, frame, arguments, keywords)
                except Exception as error:
                    faults.note(self.probe, error)
                if found is None:
                    return pass_on(name, keys, arguments, keywords)
                result = found.run(below(keys), *arguments, **keywords)
                if found.look >= nonfinite.looking:
                    with unprofiled(), no_dispatch():  # the program's own modes would see it up to torch 2.11
                        look(found, result, arguments, keywords, frame)
                if dataflow.on:
                    dataflow.saw(frame, arguments, keywords, result)
                return result
            finally:
                switch(not self._off)

        skip(dispatch)
        return dispatch

    def _noting(self) -> Any:
        """What notes that an operator runs."""
        take, open_block, begin_block = self._stacks.take, self._open, self._begin
        number_of, grad_enabled = node_number, torch.is_grad_enabled
        engine = bound("torch.autograd.graph._engine_run_backward").__code__

        def note(found: Operator, thread: Thread, frame: FrameType | None, arguments: Any, keywords: Any) -> None:
            name = thread.operator = found.name
            thread.maker = name if found.makes_nodes else thread.maker
            if thread.pending:
                for token in thread.pending:
                    token.operator = name
                thread.pending.clear()
            numbers = thread.operations
            if not 0 < len(numbers) < thread.room:
                numbers = open_block(thread)
            backward = thread.backward
            node = number_of(backward) if backward is not None else PLAIN if grad_enabled() else NO_GRAD
            if node == PLAIN and numbers and numbers[MODE] == NO_GRAD:
                numbers = begin_block(thread)
            if thread.call is not thread.last_call:
                enter_call(thread)
            at_base = frame is None or (backward is not None and frame.f_code is engine)
            stack = thread.base if at_base else take(frame, thread.base)
            if found.writes:
                self._note_writes(thread, (name, stack, thread.place, node), found.writes, arguments, keywords)
            else:
                numbers.extend((name, stack, thread.place, node, 0))

        skip(note)
        return note

    def _written(
        self,
        thread: Thread,
        head: tuple[int, int, int, int],
        writes: tuple[Write, ...],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any] | None,
    ) -> None:
        """Append an operator that writes: in one go, because the heartbeat's thread may look at any time."""
        numbers: list[int] = []
        try:
            if self._exchanged and len(arguments) > 1:
                self._copied(head[0], *arguments[:2])
            for position, name, keyword in writes:
                value = arguments[position] if position < len(arguments) else (keywords or {}).get(keyword)
                for tensor in value if isinstance(value, (list, tuple)) else (value,):
                    if isinstance(tensor, torch.Tensor):
                        storage, version = numbered(thread, tensor)
                        traced = tensor.requires_grad
                        leaf = self._sink.string(self._names.leaf(tensor)) if traced and is_leaf(tensor) else 0
                        new = not (version or thread.versions[storage])
                        if (new or (traced and not leaf)) and not _is_tracked(tensor, arguments):
                            self._inplace_writes.wrote(tensor, thread.storages[storage], *head[:2])
                        numbers.extend((name, version, storage, leaf))
        except BaseException:  # a fault, or the script's signal handler struck: the operator counts without its writes
            thread.operations.extend((*head, 0))
            raise
        thread.operations.extend((*head, len(numbers) // WRITE, *numbers))

    def _copied(self, operator: int, target: Any, source: Any) -> None:
        """An operator writes, after something was given to a collective: it may copy that into gradients."""
        if operator == self._sink.string(_COPY):
            self._collectives.copied(target, source)
        elif operator == self._sink.string(_COPIES):
            for one, other in zip(target, source, strict=False):
                self._collectives.copied(one, other)

    def _describe(self, name: str) -> Operator:
        operator = operator_of(name)
        known = Operator()
        known.writes = tuple(
            (position, self._sink.string(argument.name), argument.name)
            for position, argument in enumerate(operator._schema.arguments)
            if argument.alias_info is not None and argument.alias_info.is_write
        )
        known.name = self._sink.string(str(operator))
        known.operator = operator
        known.run = runner(name)
        if is_collective(operator):
            known.run = self._meeting.runner(known.run, known.name, operator)
        known.copies = copies(operator) and accelerators.is_there_one()
        known.makes_nodes = str(operator) != "aten.detach.default"
        known.look = FORWARD if known.copies else look_of(operator)
        known.harmless = harmless_of(operator)
        if known.harmless is always and not accelerators.is_there_one():
            known.look = CLOSELY
        known.sign = self._nonfinite.signs.of(str(operator))
        known.sign_at_rest = str(operator) in NORMALISES
        if known.sign_at_rest:  # which layer is frozen changes in the middle of a run
            known.look, known.harmless = FORWARD, always
        if not is_foreseen(operator):
            self.unforeseen.add(known.name)
        self._known[name] = known
        return known

    def _override(self) -> None:
        """The program has tensor classes that would be asked: the engine will hand operators what is of them."""
        self._overriding, self._note_writes = True, torch_function_classes.unseen(self._written)

    def _open(self, thread: Thread) -> list[int]:
        """Begin a block, after one that is full or another backward's if there is one, and answer with its numbers."""
        if self._threads.tasks.running(thread) is thread.owner and 0 < len(thread.operations) < BLOCK:
            return thread.operations
        return self._begin(thread)

    def _begin(self, thread: Thread) -> list[int]:
        """Begin a block. What an optimizer does without gradients gets its own: it may differ where forwards repeat."""
        with self._turn:
            self.close(thread)
            thread.owner = thread.backward
        thread.started = time.perf_counter() - self._started
        if thread not in self.threads:
            self.threads.append(thread)
        return thread.operations

    def close(self, thread: Thread) -> int | None:
        """Store a thread's open block, or only point at it when it was seen before. The number of its run."""
        numbers = thread.operations
        if not numbers:
            return None
        try:
            block, new = self._recall(numbers, places_of(thread.calls), list(thread.calls))
            if new and not self._overriding and torch_function_classes.is_there_one():
                self._override()
            run = next(self._block_runs)
            number = None if thread.owner is None else thread.owner.number
            versions = json.dumps(thread.versions) if any(thread.versions) else None
            self._sink.add("block_run", (run, block, thread.number, number, thread.started, versions, True))
            for tell in self._block_closed:
                tell(thread, block, numbers)
            self._inplace_writes.closed(run, thread.storages)
            self._dataflow.close(thread, run, numbers, new)
            return run
        finally:
            thread.leave_block()

    def _recall(self, numbers: list[int], places: Places, calls: list[RunningModuleCall]) -> tuple[int, bool]:
        """The id of a block that may have been seen before, most often one of the last few; and whether it is new."""
        for one in tuple(self._remembered):  # other threads put theirs in
            if one[0] == numbers and one[1] == places:
                return one[2], False
        new = False

        def write(block: int) -> None:
            nonlocal new
            new = True
            self._write(block, numbers, calls)

        key = digest(array("q", numbers), *(array("q", one) for one in places))
        block = store(self._sink, "block", key, write)
        self._remembered.appendleft((numbers, places, block))
        return block, new

    def _write(self, block: int, numbers: list[int], called: list[RunningModuleCall]) -> None:
        ids = self._calls.ids({call.serial: call for call in called})
        calls = {number: ids[call.serial] for number, call in enumerate(called, 1)}
        operations, written = rows_of(block, numbers, calls)
        self._sink.add_all("operation", operations)
        self._sink.add_all("written", written)
        self._sink.add("block", (block, len(operations), len(written)))


def _is_tracked(written: torch.Tensor, arguments: tuple[Any, ...]) -> bool:
    """Whether autograd makes a node for an in-place operator."""
    if not torch.is_grad_enabled():
        return False
    return written.requires_grad or any(isinstance(one, torch.Tensor) and one.requires_grad for one in arguments)


def node_number(backward: BackwardCall, current_node: Any = current_node) -> int:
    """The node that a backward is evaluating, -1 for none."""
    current, walked = current_node(), backward.walked
    if current is None or walked is None:
        return -1
    token = current.metadata.get(KEY)
    if type(token) is not Token or token.uid < Token.first:
        token = token_of(current)
    return -1 if token is None else walked.numbers.get(token.uid, -1)
