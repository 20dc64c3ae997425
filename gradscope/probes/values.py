"""Times each node of a backward and measures the gradients that go through it, for `--detail full`.

Statistics are numbers at once: no gradient is kept.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import torch

from gradscope.probes.dynamo import skip
from gradscope.probes.engine import Call, Watcher
from gradscope.probes.faults import Faults
from gradscope.probes.sink import Sink
from gradscope.probes.threads import Thread, Threads

_IN, _OUT = 0, 1


class Run:
    """What is measured of one backward while it runs."""

    __slots__ = ("began", "handles", "nodes", "order", "statistics")

    def __init__(self) -> None:
        self.began: dict[int, float] = {}
        self.order: list[int] = []
        self.nodes: list[tuple[int, int, float, float]] = []  # number, thread, started, duration
        self.statistics: list[tuple[object, ...]] = []
        self.handles: list[Any] = []


class Values(Watcher):
    """Puts a hook before and after each node for the length of one backward."""

    def __init__(self, sink: Sink, threads: Threads, faults: Faults) -> None:
        self._sink, self._threads, self._faults = sink, threads, faults
        self._runs: dict[int, Run] = {}

    def before(self, call: Call, thread: Thread) -> None:
        """Hook every node."""
        run = self._runs[call.number] = Run()
        for number, node in enumerate(call.live):
            run.handles.append(node.register_prehook(self._entering(run, call, number)))
            run.handles.append(node.register_hook(self._leaving(run, call, number)))

    def after(self, call: Call, thread: Thread) -> None:
        """Take the hooks away and write what they saw."""
        run = self._runs[call.number]
        for handle in run.handles:
            handle.remove()
        run.handles.clear()
        rows = ((call.number, position, *row) for position, row in enumerate(run.nodes))
        self._sink.add_all("node_run", rows)
        self._sink.add_all("gradient", ((call.number, *row) for row in run.statistics))

    def order(self, call: Call) -> list[int] | None:
        """The nodes in the order in which they were entered."""
        run = self._runs.get(call.number)
        return None if run is None else run.order

    def _entering(self, run: Run, call: Call, number: int) -> Callable[[Any], None]:
        def entering(gradients: Any) -> None:
            try:
                run.order.append(number)
                self._measure(run, number, _IN, gradients)
                run.began[number] = time.perf_counter()
            except Exception as error:
                self._faults.note("values", error)

        skip(entering)
        return entering

    def _leaving(self, run: Run, call: Call, number: int) -> Callable[[Any, Any], None]:
        def leaving(passed: Any, received: Any) -> None:
            try:
                now = time.perf_counter()
                began = run.began.pop(number, now)
                run.nodes.append((number, self._threads.current.number, began - call.started, now - began))
                self._measure(run, number, _OUT, passed)
            except Exception as error:
                self._faults.note("values", error)

        skip(leaving)
        return leaving

    def _measure(self, run: Run, number: int, side: int, gradients: Any) -> None:
        thread = self._threads.current
        thread.busy = True
        try:
            with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
                for position, gradient in enumerate(gradients):
                    found = statistics_of(gradient)
                    if found is not None:
                        run.statistics.append((number, side, position, *found))
        finally:
            thread.busy = False


def norm_of(thread: Thread, gradient: Any) -> float | None:
    """A gradient's 2-norm over its finite values; None for what has no plain values to look at."""
    busy, thread.busy = thread.busy, True
    try:
        with torch.no_grad(), torch._C.DisableTorchFunction(), torch._C._DisableTorchDispatch():
            found = statistics_of(gradient)
    finally:
        thread.busy = busy
    return None if found is None else found[0]


def statistics_of(gradient: Any) -> tuple[float, float, float, int, int] | None:
    """Norm, largest magnitude, zero share, NaN and Inf count; None for what has no plain values to look at."""
    if not isinstance(gradient, torch.Tensor) or type(gradient) not in (torch.Tensor, torch.nn.Parameter):
        return None
    if (
        gradient.layout is not torch.strided
        or gradient.is_meta
        or torch._C._functorch.is_functorch_wrapped_tensor(gradient)
    ):
        return None
    count = gradient.numel()
    if count == 0:
        return 0.0, 0.0, 0.0, 0, 0
    values = gradient.detach()
    if values.is_complex():
        values = values.abs()
    norm = float(values.norm())
    if not math.isfinite(norm):
        return _of_all_kinds(values.double())
    least, most = torch.aminmax(values)
    largest = max(-float(least), float(most))
    return norm, largest, (count - int(torch.count_nonzero(values))) / count, 0, 0


def _of_all_kinds(values: torch.Tensor) -> tuple[float, float, float, int, int]:
    """The same, slowly, for a gradient with NaN or Inf in it, or whose norm overflows its dtype."""
    nan, inf = int(torch.isnan(values).sum()), int(torch.isinf(values).sum())
    finite = torch.where(torch.isfinite(values), values, 0.0)
    zeros = values.numel() - int(torch.count_nonzero(values))
    return float(finite.norm()), float(finite.abs().max()), zeros / values.numel(), nan, inf
