"""Times each node of a backward and measures the gradients that go through it, for `--detail full`.

Statistics are numbers at once: no gradient is kept. One that goes out of a node and untouched into the next is
measured once.
"""

from __future__ import annotations

import math
import struct
import threading
import time
import weakref
from functools import partial
from typing import Any

import torch

from gradscope.probes.dynamo import skip_methods
from gradscope.probes.engine import Call, Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.guards import no_autograd, no_dispatch, no_function
from gradscope.probes.sink import Sink, store
from gradscope.probes.structure import digest
from gradscope.probes.threads import Thread, Threads

_IN, _OUT = 0, 1
_STATISTICS = 5  # numbers in a row: norm, largest magnitude, zero share, NaN and Inf count
_LARGE, _STRETCH = 32_768, 131_072  # elements

_is_wrapped = torch._C._functorch.is_functorch_wrapped_tensor
_vector_norm = torch.linalg.vector_norm


class Passed(weakref.ref[torch.Tensor]):
    """A gradient that a node has passed on, while it lives: where its statistics are, and its version then."""

    __slots__ = ("row", "version")

    row: int
    version: int


class Run:
    """What is measured of one backward while it runs, as flat lists of numbers."""

    __slots__ = ("began", "call", "entered", "gradients", "handles", "over", "passed", "ran", "statistics", "times")

    def __init__(self, call: Call) -> None:
        self.call = call
        self.over = False  # a hook may have stayed where a signal handler raised while it was placed
        self.handles: list[Any] = []
        self.began: dict[int, float] = {}
        self.entered: list[int] = []  # nodes
        self.ran: list[int] = []  # node, thread
        self.times: list[float] = []  # started, duration
        self.gradients: list[int] = []  # node, side, position, row of its statistics
        self.statistics: list[float] = []
        self.passed: dict[int, Passed] = {}  # by identity

    def known(self, gradient: torch.Tensor) -> int:
        """The row of a gradient that was measured when it was passed on; -1 when it is another or was changed."""
        passed = self.passed.pop(id(gradient), None)
        if passed is None or passed() is not gradient or passed.version != gradient._version:
            return -1
        return passed.row

    def measure(self, gradient: Any) -> int:
        """The row of a gradient's statistics, -1 when it has none."""
        found = statistics_of(gradient)
        if found is None:
            return -1
        self.statistics.extend(found)
        return len(self.statistics) // _STATISTICS - 1

    def remember(self, gradient: torch.Tensor, row: int) -> None:
        """Expect a gradient that was measured at the next node."""
        if not gradient.is_inference():
            passed = self.passed[id(gradient)] = Passed(gradient)
            passed.row, passed.version = row, gradient._version


class Values(Watcher):
    """Puts a hook before and after each node for the length of one backward."""

    probe = "values"

    def __init__(self, sink: Sink, threads: Threads, faults: Faults) -> None:
        self._sink, self._threads, self._faults = sink, threads, faults
        self._runs: dict[int, Run] = {}
        self._off = False
        faults.switch(self.probe, self._switch_off)
        skip_methods(Values)
        skip_methods(Run)

    def before(self, call: Call, thread: Thread) -> None:
        """Hook every node."""
        run = self._runs[call.number] = Run(call)
        for number, node in enumerate(() if call.compiled or self._off else call.live):
            run.handles.append(node.register_prehook(partial(self._enter, run, number)))
            run.handles.append(node.register_hook(partial(self._leave, run, number)))

    def after(self, call: Call, thread: Thread) -> None:
        """Write what the hooks saw: what repeats from step to step once."""
        run = self._runs.get(call.number)
        if run is None or call.compiled or self._off:
            return
        layout = [struct.pack(f"<{len(one)}i", *one) for one in (run.entered, run.ran, run.gradients)]
        number = store(
            self._sink, "layout", digest(*layout), lambda number: self._sink.add("layout", (number, *layout))
        )
        measured = [struct.pack(f"<{len(one)}d", *one) for one in (run.times, run.statistics)]
        self._sink.add("measurement", (call.number, number, *measured))

    def forget(self, call: Call) -> None:
        """Take the hooks away."""
        run = self._runs.pop(call.number, None)
        if run is not None:
            run.over = True
            for handle in run.handles:
                handle.remove()

    def _switch_off(self) -> None:
        self._off = True

    def _enter(self, run: Run, number: int, received: Any) -> None:
        try:
            if self._is_of(run):
                run.entered.append(number)
                self._measure(run, number, _IN, received)
                run.began[number] = time.perf_counter()
        except Exception as error:
            self._faults.note(self.probe, error)

    def _leave(self, run: Run, number: int, passed: Any, received: Any) -> None:
        now = time.perf_counter()
        try:
            if self._is_of(run):
                began = run.began.pop(number, now)
                run.ran += (number, self._threads.current.number)
                run.times += (began - run.call.started, now - began)
                self._measure(run, number, _OUT, passed)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _is_of(self, run: Run) -> bool:
        """Whether the node runs for this backward: not for another one, over the same nodes, in it or beside it."""
        running = self._threads.tasks.running(self._threads.current)
        return not (self._off or run.over) and (running is None or running is run.call)  # none: nobody knows

    def _measure(self, run: Run, number: int, side: int, gradients: Any) -> None:
        with no_function(), no_dispatch(), no_autograd():
            for position, gradient in enumerate(gradients):
                if gradient is None:
                    continue
                row = run.known(gradient) if side == _IN else -1
                if row < 0:
                    row = run.measure(gradient)
                    if row < 0:
                        continue
                    if side == _OUT:
                        run.remember(gradient, row)
                run.gradients += (number, side, position, row)


def norm_of(thread: Thread, gradient: Any) -> float | None:
    """A gradient's 2-norm over its finite values; None for what has no plain values to look at."""
    busy, thread.busy = thread.busy, True
    try:
        with no_function(), no_dispatch(), no_autograd():
            found = statistics_of(gradient)
    finally:
        thread.busy = busy
    return None if found is None else found[0]


def statistics_of(gradient: Any) -> tuple[float, float, float, int, int] | None:
    """Norm, largest magnitude, zero share, NaN and Inf count; None for what has no plain values to look at."""
    if type(gradient) is not torch.Tensor and type(gradient) is not torch.nn.Parameter:
        return None
    if gradient.layout is not torch.strided or gradient.is_meta or gradient.is_nested or _is_wrapped(gradient):
        return None
    count = gradient.numel()
    if count == 0:
        return 0.0, 0.0, 0.0, 0, 0
    if gradient.data_ptr() == 0:
        return None  # no memory: a zero tensor of forward mode, a storage given back
    values = gradient.abs() if gradient.is_complex() else gradient
    norm = _vector_norm(values).item()
    if not math.isfinite(norm):
        return _of_all_kinds(values.double())
    least, most = torch.aminmax(values)
    return norm, max(-least.item(), most.item()), (count - _not_zero(values, count)) / count, 0, 0


class _Scratch(threading.local):
    """Room in which a thread compares a stretch of a large gradient with 0."""

    def __init__(self) -> None:
        self.room = torch.empty(_STRETCH, device="cpu")


_scratch = _Scratch()


def _not_zero(values: torch.Tensor, count: int) -> int:
    """How many are not 0. Torch's own count is slow on many: 1.0 for each, summed a stretch at a time, is not."""
    if count < _LARGE or values.dtype is not torch.float32 or not values.is_contiguous() or not values.is_cpu:
        return int(torch.count_nonzero(values).item())
    room = _scratch.room
    pieces = values.view(-1).split(_STRETCH)
    return sum(int(torch.ne(piece, 0, out=room[: piece.numel()]).sum().item()) for piece in pieces)


def _of_all_kinds(values: torch.Tensor) -> tuple[float, float, float, int, int]:
    """The same, slowly, for a gradient with NaN or Inf in it, or whose norm overflows its dtype."""
    nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
    finite = torch.where(torch.isfinite(values), values, 0.0)
    zeros = values.numel() - int(torch.count_nonzero(values))
    return float(finite.norm()), float(finite.abs().max()), zeros / values.numel(), nan, inf
