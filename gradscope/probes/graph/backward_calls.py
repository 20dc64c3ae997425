"""Sees every call into the autograd engine.

The surprise: `_engine_run_backward` asks its logger for a level and, at DEBUG, calls a function of its module before
and after the run. Standing in for these two adds no frame to the tracebacks of a backward that fails.
"""

from __future__ import annotations

import itertools
import json
import logging
import sys
import threading
import time
from collections.abc import Callable
from types import CodeType
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_distributed
from gradscope.probes.core.context import Context
from gradscope.probes.core.faults import described
from gradscope.probes.core.node_token import token_of
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.core.walked_graph import WalkedGraph
from gradscope.probes.graph.edges import edge_of, entry_of, input_of
from gradscope.probes.graph.node_creation import node_creation
from gradscope.probes.graph.walk import Walker, discover
from gradscope.torch_internals.dynamo import is_compiled, is_traced, skip, skip_methods
from gradscope.torch_internals.find import Replacement, bound
from gradscope.torch_internals.guards import no_function

_MODULE_CALL = "_wrapped_call_impl"


class BackwardCalls:
    """Records backward calls: what they were asked, their graphs, how they ended."""

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._stacks = context.sink, context.threads, context.stacks
        self._recorder, self._walker = context.get(node_creation), context.get(Walker)
        self._faults, self._watchers, self._steps = context.faults, context.events.backward, context.steps
        self._numbers = itertools.count()
        self.code: CodeType = bound("torch.autograd.graph._engine_run_backward").__code__
        self._log = Replacement("torch.autograd.graph.log")
        self._register = Replacement("torch.autograd.graph._register_logging_hooks_on_whole_graph")
        self._started = context.started
        self._turn = threading.RLock()  # one thread at a time begins or ends a call: watchers need not know of others
        self.calls = self.nodes = 0  # so far
        self.raised: dict[int, int] = {}  # the calls that raised last, by the identity of what they raised
        self._off = False
        context.faults.switch("engine", self._switch_off)

    def __enter__(self) -> BackwardCalls:
        skip_methods(BackwardCalls)
        log = _Logger(self._log.original)
        skip_methods(_Logger)
        skip(is_compiled, is_traced)
        self._log.put(log)
        self._register.put(self._stand_in())
        self._stacks.anchors.add(id(self.code))
        return self

    def __exit__(self, *error: object) -> None:
        self._log.restore()
        self._register.restore()
        self._turn = threading.RLock()  # in a forked child, a thread that is not there any more may hold the other

    def _stand_in(self) -> Callable[[Any], Callable[[], None]]:
        log, register = self._log.original, self._register.original

        def before(outputs: Any) -> Callable[[], None]:
            undo = register(outputs) if log.getEffectiveLevel() <= logging.DEBUG else None
            call, handled = BackwardCall(), sys.exc_info()[1]
            try:
                self._recorder.engine_begins()
                if is_traced():
                    self._sink.drop("backward calls that a compiler traced")
                elif not self._off:
                    self._begin(call, sys._getframe(1), outputs)
            except BaseException as error:
                self._failed(call, error)

            def after() -> None:
                raised = sys.exc_info()[1]
                try:
                    self._recorder.engine_ends()
                    if call.began:
                        self._end(call, None if raised is handled else raised, outputs)
                    elif raised is not None and raised is not handled:
                        self._recorder.mend(raised)
                except BaseException as error:
                    self._failed(call, error)
                finally:
                    if undo is not None:
                        undo()

            return after

        skip(before)  # and `after` in it
        return before

    def _switch_off(self) -> None:
        self._off = True

    def _failed(self, call: BackwardCall, error: BaseException) -> None:
        """We failed, or a signal handler of the script raised: leave nothing behind of the call."""
        self._give_up(call)
        if not isinstance(error, Exception):
            raise error
        self._faults.note("engine", error)

    def _give_up(self, call: BackwardCall) -> None:
        if not call.began:
            return
        call.began = False
        thread = self._threads.current
        thread.busy, thread.backward, thread.base = False, call.outer, call.outer_base
        self._threads.tasks.end(call)
        self._ask("forget", call)

    def _ask(self, what: str, *arguments: Any) -> None:
        """Let every watcher act; one that fails does not keep the others from it."""
        for watcher in self._watchers:
            try:
                getattr(watcher, what)(*arguments)
            except Exception as error:
                self._faults.note(watcher.probe, error)

    def _settle(self, thread: Thread, frame: Any) -> None:
        """Put right what a signal handler's exception has left behind where no code of ours could catch it."""
        backward = None if thread.is_engines else thread.backward  # no frame of its call is on an engine's thread
        if backward is not None and not _runs_in(frame, self.code.co_name):
            self._give_up(backward)
        if thread.call is not None and not _runs_in(frame, _MODULE_CALL):
            thread.call, thread.base = None, 0

    def _begin(self, call: BackwardCall, frame: Any, outputs: Any) -> None:
        thread = self._threads.current
        self._settle(thread, frame.f_back)
        names = frame.f_locals
        gradients, keep_graph, create_graph, inputs = names["args"][:4]
        call.gradients = gradients or ()
        call.keep_graph, call.create_graph = bool(keep_graph), bool(create_graph)
        call.accumulate = bool(names["kwargs"].get("accumulate_grad", False))
        call.compiled = is_compiled()
        call.walked, call.live, call.thread = None, [], thread.number
        call.outputs = call.targets = ()
        call.outer, call.outer_base = self._threads.tasks.running(thread), thread.base
        call.number = next(self._numbers)
        call.step = self._steps.current if call.outer is None else call.outer.step
        call.stack = self._stacks.take(frame.f_back, thread.base)
        call.began = True
        self._steps.update_ends()
        if self._steps.recorded:
            with self._turn:
                self._look(call, thread, outputs, inputs)
        call.base = thread.base = self._stacks.push(call.stack, self.code, frame.f_lasti)
        thread.backward = call
        self._threads.tasks.begin(call)  # its graph is known, and its base
        call.started = time.perf_counter()
        if call.walked is not None:
            self._write(call, call.walked, None, 0)
            if is_distributed():
                self._sink.commit()

    def _look(self, call: BackwardCall, thread: Thread, outputs: Any, inputs: Any) -> None:
        """Walk the graph, and let the watchers do so, before it runs."""
        self.calls += 1
        thread.busy = True
        try:
            with no_function():
                roots = [edge_of(output) for output in outputs]
                call.walked, call.live = self._walker.walk([node for node, _ in roots if node is not None])
                self.nodes += len(call.live)
                call.outputs, call.targets = outputs, inputs or ()
                call.reached = all(node is not None for node, _ in roots)
                call.roots = json.dumps([entry_of(edge, call.walked) for edge in roots])
                call.inputs = json.dumps([input_of(one, call.walked) for one in inputs]) if inputs else None
                self._ask("before", call, thread)
        finally:
            thread.busy = False
            call.live, call.outputs, call.targets, call.gradients = [], (), (), ()

    def _end(self, call: BackwardCall, error: BaseException | None, outputs: Any) -> None:
        duration = time.perf_counter() - call.started
        thread = self._threads.current
        thread.backward, thread.base = call.outer, call.outer_base
        if error is not None:
            self.raised = {id(error): call.number}
            self._recorder.mend(error)
        with self._turn:
            self._finish(call, thread, error, outputs, duration)
        (self._sink.commit_soon if error is None else self._sink.commit)()
        if call.outer is None:  # last, so that the step's time has the commit in it
            with self._turn:
                self._steps.end()

    def _finish(
        self, call: BackwardCall, thread: Thread, error: BaseException | None, outputs: Any, duration: float
    ) -> None:
        """Let the watchers finish, and write how it ended."""
        call.failed = error is not None
        if call.walked is not None:
            self._ask("after", call, thread)
            if error is not None:
                call.stopped = _raised_in(error, call.walked) if call.stopped is None else call.stopped
                self._look_again(call, thread, error, outputs)
            exception = 0 if error is None else self._sink.string(described(error))
            self._write(call, call.walked, duration, exception)
        self._threads.tasks.end(call)
        self._ask("forget", call)
        self._recorder.release()

    def _look_again(self, call: BackwardCall, thread: Thread, error: BaseException, outputs: Any) -> None:
        """Let the watchers look at the graph that a failed run has left."""
        thread.busy = True
        try:
            with no_function():
                roots = [edge_of(output)[0] for output in outputs]
                call.live, _ = discover([root for root in roots if root is not None])
                self._ask("failed", call, error)
        finally:
            thread.busy = False
            call.live = []

    def _write(self, call: BackwardCall, walked: WalkedGraph, duration: float | None, exception: int) -> None:
        self._sink.add("backward", (
            call.number, "backward" if call.accumulate else "grad", walked.graph, walked.tensors, walked.seq_base,
            call.roots, call.inputs, call.keep_graph, call.create_graph,
            None if call.outer is None else call.outer.number, self._steps.before + call.step, call.thread, call.stack,
            call.started - self._started, duration, exception, call.stopped,
        ))  # fmt: skip


class _Logger:
    """Torch's own logger for the engine, which answers that DEBUG is on."""

    def __init__(self, logger: logging.Logger) -> None:
        self._logger = logger

    def getEffectiveLevel(self) -> int:
        return logging.DEBUG

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)


def _raised_in(error: BaseException, walked: WalkedGraph) -> int | None:
    """The node of a custom Function out of whose backward an exception came: torch calls it on the node itself."""
    below = None if error.__traceback__ is None else error.__traceback__.tb_next
    node = None if below is None else below.tb_frame.f_locals.get("self")
    token = token_of(node) if isinstance(node, torch.autograd.function.FunctionCtx) else None
    return None if token is None else walked.numbers.get(token.uid)


def _runs_in(frame: Any, function: str) -> bool:
    """Whether a function of that name is on the stack."""
    while frame is not None and frame.f_code.co_name != function:
        frame = frame.f_back
    return frame is not None
