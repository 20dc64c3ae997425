"""Times each node of a backward and measures the gradients that go through it, for `--detail full`.

Statistics are numbers at once: no gradient is kept. One that goes out of a node and untouched into the next, or that a
node passes on as it is or in another shape, is measured once.
"""

from __future__ import annotations

import struct
import time
import weakref
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeGuard

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.digest import digest
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.sink import Gone, store
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.graph.buffer_requests import asks_for_buffers
from gradscope.probes.graph.node_hooks import HookSet
from gradscope.probes.tensors import accelerators
from gradscope.probes.tensors.device_statistics import DeviceStatistics
from gradscope.probes.tensors.statistics import WIDTH, Statistics, has_values, is_dense, statistics_of
from gradscope.torch_internals.dynamo import skip_methods
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, no_transforms, unprofiled

_IN, _OUT = 0, 1

_LATER: Statistics = (0.0, 0.0, 0.0, 0, 0)  # in the place of what a device has not answered yet
_FEW = 4  # received gradients of a node that passed ones are compared with

Passed = tuple[weakref.ref[torch.Tensor], int, int]  # a gradient that a node has passed on: its version, its row
Received = tuple[int, int, int, int]  # a gradient that a node has received: position, identity, version, row


class MeasuredBackward:
    """What is measured of one backward while it runs, as flat lists of numbers."""

    __slots__ = (
        "began",
        "call",
        "entered",
        "far",
        "gradients",
        "hooks",
        "passed",
        "ran",
        "received",
        "statistics",
        "times",
    )

    def __init__(self, call: BackwardCall, hooks: HookSet, far: DeviceStatistics) -> None:
        self.call = call
        self.hooks = hooks
        self.far = far
        self.began: dict[int, float] = {}
        self.entered: list[int] = []  # nodes
        self.ran: list[int] = []  # node, thread
        self.times: list[float] = []  # started, duration
        self.gradients: list[int] = []  # node, side, position, row of its statistics
        self.statistics: list[float] = []
        self.passed: dict[int, Passed] = {}  # by identity
        self.received: dict[int, list[Received]] = {}  # by node that runs

    def receive(self, number: int, gradients: Any) -> None:
        """Measure what a node receives, unless it was measured when another passed it on."""
        received: list[Received] = []
        for position, gradient in enumerate(gradients):
            if gradient is None:
                continue
            row = self._known(gradient)
            if row < 0 and (row := self._measured(gradient)) < 0:
                continue
            self.gradients += (number, _IN, position, row)
            if len(received) < _FEW and not gradient.is_inference():
                received.append((position, id(gradient), gradient._version, row))
        self.received[number] = received

    def pass_on(self, number: int, gradients: Any, received: Any) -> None:
        """Measure what a node passes on, unless it is what the node has received."""
        known = self.received.pop(number, None) or ()
        for position, gradient in enumerate(gradients):
            if gradient is None:
                continue
            row = _row_of(gradient, received, known)
            if row < 0 and (row := self._measured(gradient)) < 0:
                continue
            self.gradients += (number, _OUT, position, row)
            if not gradient.is_inference():
                self.passed[id(gradient)] = (weakref.ref(gradient), gradient._version, row)

    def _known(self, gradient: torch.Tensor) -> int:
        """The row of a gradient that was measured when it was passed on; -1 when it is another or was changed."""
        passed = self.passed.pop(id(gradient), None)
        if passed is None or passed[0]() is not gradient or passed[1] != gradient._version:
            return -1
        return passed[2]

    def _measured(self, gradient: Any) -> int:
        """The row of a gradient's statistics, -1 when it has none."""
        with unprofiled(), no_dispatch(), no_autograd(), no_transforms():
            if accelerators.is_on_accelerator(gradient):
                found = _LATER if self.far.ask(gradient, partial(self._fill, len(self.statistics))) else None
            else:
                found = statistics_of(gradient)
        if found is None:
            return -1
        self.statistics.extend(found)
        return len(self.statistics) // WIDTH - 1

    def _fill(self, place: int, found: Statistics) -> None:
        """A device has answered."""
        self.statistics[place : place + WIDTH] = found


def _row_of(passed: torch.Tensor, received: Any, known: Sequence[Received]) -> int:
    """The row of a received gradient that is the same, or the same memory in another shape; -1 when there is none."""
    for position, identity, version, row in known:
        one = received[position]
        if id(one) == identity and one._version == version and (one is passed or _same_elements(one, passed)):
            return row
    return -1


def _same_elements(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors have the same numbers in the same memory, in whatever order."""
    return (
        one.numel() == other.numel()
        and has_values(other)
        and one.data_ptr() == other.data_ptr()
        and one.dtype is other.dtype
        and one.is_neg() is other.is_neg()
        and is_dense(one)
        and is_dense(other)
    )


class NodeTimes(Watcher):
    """Puts a hook before and after each node for the length of one backward."""

    probe = "values"

    def __init__(self, context: Context) -> None:
        self._sink, self._threads, self._faults = context.sink, context.threads, context.faults
        self._runs: dict[int, MeasuredBackward] = {}
        self._free: list[HookSet] = []
        self._far = DeviceStatistics()
        self._latest: tuple[Any, int] = (None, 0)  # what was stored as a layout last
        self._off = False
        context.events.content_gone.append(self._gone)
        context.faults.switch(self.probe, self._switch_off)
        skip_methods(NodeTimes)
        skip_methods(MeasuredBackward)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Hook every node; none where one may ask for gradient buffers, which torch refuses then."""
        hooks = self._free.pop() if self._free else HookSet(self._enter, self._leave)
        run = self._runs[call.number] = MeasuredBackward(call, hooks, self._far)
        if not (call.compiled or self._off or any(map(asks_for_buffers, call.live))):
            hooks.place(run, call.live)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Write what the hooks saw: what repeats from step to step once."""
        run = self._runs.get(call.number)
        if run is not None and call.failed and call.stopped is None and len(run.began) == 1:
            (call.stopped,) = run.began
        if run is None or call.compiled or self._off:
            return
        self._far.read()
        measured = [struct.pack(f"<{len(one)}d", *one) for one in (run.times, run.statistics)]
        self._sink.add("measurement", (call.number, self._layout(run), *measured))

    def _layout(self, run: MeasuredBackward) -> int:
        """The id of what repeats, most often that of the call before."""
        found = (run.entered, run.ran, run.gradients)
        latest, number = self._latest
        if latest != found:
            packed = [struct.pack(f"<{len(one)}i", *one) for one in found]
            number = store(
                self._sink, "layout", digest(*packed), lambda number: self._sink.add("layout", (number, *packed))
            )
            self._latest = found, number
        return number

    def forget(self, call: BackwardCall) -> None:
        """Take the hooks away."""
        run = self._runs.pop(call.number, None)
        if run is not None:
            run.hooks.take_away()
            self._free.append(run.hooks)

    def _switch_off(self) -> None:
        self._off = True

    def _gone(self, gone: Gone) -> None:
        if self._latest[1] in gone["layout"]:
            self._latest = (None, 0)

    def _enter(self, hooks: HookSet, number: int, received: Any) -> None:
        run = hooks.run
        try:
            if self._is_of(run):
                run.entered.append(number)
                with no_function():
                    run.receive(number, received)
                run.began[number] = time.perf_counter()
        except Exception as error:
            self._faults.note(self.probe, error)

    def _leave(self, hooks: HookSet, number: int, passed: Any, received: Any) -> None:
        now, run = time.perf_counter(), hooks.run
        try:
            if self._is_of(run):
                began = run.began.pop(number, now)
                run.ran += (number, self._threads.current.number)
                run.times += (began - run.call.started, now - began)
                with no_function():
                    run.pass_on(number, passed, received)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _is_of(self, run: MeasuredBackward | None) -> TypeGuard[MeasuredBackward]:
        """Whether the node runs for this backward: not for another one, over the same nodes, in it or beside it.

        A hook may have stayed, without a run, where a signal handler raised while it was placed.
        """
        if run is None or self._off:
            return False
        running = self._threads.tasks.running(self._threads.current)
        return running is None or running is run.call  # none: nobody knows
