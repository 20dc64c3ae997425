"""Builds the probes of the table, enters them around a run, and leaves them."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from gradscope.model.window import Window
from gradscope.probes.core.context import Context, Options
from gradscope.probes.core.events import Events
from gradscope.probes.core.faults import Faults
from gradscope.probes.core.overhead_budget import OverheadBudget
from gradscope.probes.core.periodic_flush import PeriodicFlush
from gradscope.probes.core.qualified_names import QualifiedNames
from gradscope.probes.core.sink import Sink
from gradscope.probes.core.stacks import Stacks
from gradscope.probes.core.steps import Steps
from gradscope.probes.core.threads import Threads
from gradscope.probes.graph.backward_calls import BackwardCalls
from gradscope.probes.graph.uncaught_exceptions import UncaughtExceptions
from gradscope.probes.operators.partial_blocks import PartialBlocks, Tail
from gradscope.probes.table import AT_BACKWARDS, ENTERED, ProbeEntry

Visitor = tuple[str, contextlib.AbstractContextManager[object]]  # its name among the faults
Beat = Callable[[Callable[[], Iterator[Tail]]], None]  # is given what tells of the open blocks


def new_context(
    sink: Sink, faults: Faults, options: Options, window: Window, overhead: float | None, before: int = 0
) -> Context:
    """What the probes of a recording that begins now have in common. `overhead` is a share of the run's time, `before`
    how many steps it has done."""
    events = Events()
    budget = None if overhead is None else OverheadBudget(overhead)
    steps = Steps(window, sink, events.step_begins, budget, before, events.content_gone)
    events.model_called.append(lambda module, frame: steps.update_ends())  # before any probe hears of it
    return Context(
        sink=sink,
        threads=Threads.counting(),
        stacks=Stacks(sink),
        names=QualifiedNames(),
        faults=faults,
        steps=steps,
        events=events,
        options=options,
        started=time.perf_counter(),
    )


class RunningProbes:
    """The probes of one recording, from `enter` to `leave`."""

    def __init__(self, context: Context) -> None:
        self._context, self._faults = context, context.faults
        self._entered = contextlib.ExitStack()
        self._calls: BackwardCalls | None = None
        self._exceptions: UncaughtExceptions | None = None

    def enter(self, visitors: Callable[[Context], Iterable[Visitor]], beat: Beat, at_once: bool = True) -> None:
        """Enter them, and the visitors, which are no probes: these come before the first backward call can be seen.

        The heartbeat begins `at_once`, or with what follows the first backward call.
        """
        context = self._context
        self._exceptions, calls = context.get(UncaughtExceptions), context.get(BackwardCalls)
        context.events.backward.extend(context.get(entry.probe) for entry in self._wanted(AT_BACKWARDS))
        for entry in self._wanted(ENTERED):
            self._enter(entry.name, context.get(entry.probe))
        for name, visitor in visitors(context):
            self._enter(name, visitor)
        self._calls = calls
        self._enter("engine", calls)
        context.steps.begin()
        flush = PeriodicFlush(self._beating(beat), context.sink.fault)
        if at_once:
            self._enter("heartbeat", flush)
        else:
            context.events.step_begins.append(partial(self._begin_to_beat, flush))

    def _begin_to_beat(self, flush: PeriodicFlush, recorded: bool) -> None:
        if PeriodicFlush.running is not flush:
            self._enter("heartbeat", flush)

    def _wanted(self, entries: Iterable[ProbeEntry]) -> list[ProbeEntry]:
        return [entry for entry in entries if entry.is_wanted(self._context.options)]

    def _enter(self, name: str, probe: contextlib.AbstractContextManager[object]) -> None:
        """Enter a probe; one that fails is left at once, and the others go on."""

        def leave(*error: object) -> None:
            try:
                probe.__exit__(None, None, None)
            except Exception as fault:
                self._faults.note(name, fault)

        try:
            probe.__enter__()
        except Exception as fault:
            leave()
            self._faults.note(name, fault)
        else:
            self._entered.push(leave)

    def _beating(self, beat: Beat) -> Callable[[], None]:
        blocks, steps = PartialBlocks(self._context), self._context.steps

        def beats() -> None:
            beat(blocks.tails)
            steps.check()

        return beats

    def note(self, error: BaseException) -> None:
        """The program has ended with an exception."""
        if self._exceptions is not None:
            self._exceptions.note(error)

    def leave(self) -> None:
        """Leave them in reverse; again does nothing."""
        self._entered.close()

    def counts(self) -> tuple[int, int]:
        """How many backward calls were recorded, and nodes in their graphs."""
        return (self._calls.calls, self._calls.nodes) if self._calls is not None else (0, 0)
