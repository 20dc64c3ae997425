"""Holds a backward before a node: a pre-hook on every node, which the prompt may answer with another gradient."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

from gradscope.debugger.breakpoints import Breakpoint
from gradscope.debugger.prompt import Prompt
from gradscope.debugger.stop import Go, Stop
from gradscope.debugger.tensors import is_finite
from gradscope.model.graph import Graph, Node
from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.faults import Faults
from gradscope.probes.core.probe import Guest
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.core.threads import Threads
from gradscope.torch_internals.dynamo import skip

_WAITS = b"\ngradscope: stops before the next node of a backward; Ctrl-C again interrupts the program\n"


class Quit(SystemExit):
    """The user quits. The program ends with status 0, as under pdb, unless it catches SystemExit itself."""


class Watch(Guest):
    """Decides before each node whether to stop. `read` gives the graph of a running backward call."""

    probe = "debugger"

    def __init__(
        self,
        read: Callable[[int], Graph],
        prompt: Prompt,
        threads: Threads,
        faults: Faults,
        backward: int | None = None,
    ) -> None:
        self._read, self._prompt, self._only = read, prompt, backward
        self._threads, self._faults = threads, faults
        self._graphs: dict[int, Graph] = {}
        self._handles: dict[int, list[Any]] = {}
        self._go = Go.CONTINUE if prompt.breakpoints else Go.STEP  # nothing named: stop before the first node
        self._here: int | None = None  # the backward that `next` stays in
        self._interrupted = self._asking = False
        self._quitting = False
        self._reached: set[Breakpoint] = set()

    @property
    def never_reached(self) -> list[Breakpoint]:
        """The breakpoints that no node was at, unless the user quit before all had run."""
        return [] if self._quitting else [one for one in self._prompt.breakpoints if one not in self._reached]

    def __enter__(self) -> Watch:
        self._handler = signal.getsignal(signal.SIGINT)
        if self._handler is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *error: object) -> None:
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, self._handler)

    def _interrupt(self, number: int, frame: Any) -> None:
        """Ctrl-C stops before the next node of a backward; when it comes again before that, it is the program's."""
        if self._interrupted or self._asking:
            self._interrupted = False
            raise KeyboardInterrupt
        self._interrupted = True
        if not self._handles:
            os.write(2, _WAITS)  # print may be what was interrupted

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Hook every node."""
        wanted = self._only in (None, call.number) or self._interrupted
        if not wanted and call.outer is None:
            return
        handles = self._handles[call.number] = []
        for number, node in enumerate(call.live):
            handles.append(node.register_prehook(self._entering(call, number, node)))

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Take the hooks away."""
        for handle in self._handles.pop(call.number, ()):
            handle.remove()
        self._graphs.pop(call.number, None)
        if self._here == call.number:
            self._here, self._go = None, Go.STEP if self._go is Go.NEXT else self._go

    def _entering(self, call: BackwardCall, number: int, live: Any) -> Callable[[Any], Any]:
        def entering(gradients: Any) -> Any:
            if self._quitting:
                raise Quit(0)
            try:
                why = self._why(call, number, gradients)
            except Exception as error:
                self._faults.note(self.probe, error)
                return None
            return None if why is None else self._stop(call, number, live, gradients, why)

        skip(entering)
        return entering

    def _why(self, call: BackwardCall, number: int, gradients: Any) -> str | None:
        """The reason to stop before this node, None to let it run."""
        at = self._at(call, number, gradients)
        if self._interrupted:
            self._interrupted = False
            return "by Ctrl-C"
        if self._go is Go.STEP or (self._go is Go.NEXT and call.number == self._here):
            return "before the next node"
        return at

    def _at(self, call: BackwardCall, number: int, gradients: Any) -> str | None:
        """The first breakpoint that this node is at, in words."""
        node = self._node(call, number)
        until = [self._prompt.until] if self._prompt.until is not None else []
        for each in (*self._prompt.breakpoints, *until):
            if not (all(map(is_finite, gradients)) if each.wants_values else not each.matches(node)):
                self._reached.add(each)
                return "at a gradient that is not finite" if each.wants_values else f"at {each.text}"
        return None

    def _stop(self, call: BackwardCall, number: int, live: Any, gradients: Any, why: str) -> Any:
        thread = self._threads.current
        stop = Stop(self._graph(call), self._node(call, number), live, tuple(gradients), why)
        self._asking = thread.busy = True  # what is tried at the prompt is not recorded
        try:
            go = self._prompt.ask(stop)
        finally:
            self._asking = thread.busy = False
        if go is None:
            self._quitting = True
            raise Quit(0)
        self._go, self._here = go, call.number
        return stop.seen if stop.replaced else None

    def _node(self, call: BackwardCall, number: int) -> Node:
        return self._graph(call).nodes[number]

    def _graph(self, call: BackwardCall) -> Graph:
        if call.number not in self._graphs:
            self._graphs[call.number] = self._read(call.number)
        return self._graphs[call.number]
