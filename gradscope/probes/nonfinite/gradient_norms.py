"""Measures the leaves' gradients in the steps 0, 1, 2, 4, 8, ...: enough to see them vanish, grow or stay zero.

Of several ranks the steps are counted anew where a model begins to train late: its first steps tell what it began with.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_distributed
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.buffer_norms import BufferNorms
from gradscope.probes.nonfinite.derived_weights import DerivedWeights
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.nameless_weights import NamelessWeights
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

Named = tuple[torch.Tensor, int]  # a leaf and the number of its name
_BEGINNINGS = 4  # leaves may be new in each step
_TOLD = 32  # backward calls: a step of several parts exchanges what its last one left, whichever was measured


class GradientNorms(Watcher):
    """After a sampled backward: the norms of each leaf and of its gradient, and how much of the gradient is zero."""

    probe = "gradient norms"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._nonfinite, self._buffers = context.get(NonfiniteOnHost), BufferNorms(context)
        self._derived: DerivedWeights | None = DerivedWeights(context)  # until a backward fills a .grad
        self._nameless = NamelessWeights(context)
        self._told = context.events.gradients_measured
        self._count, self._beginnings = 0, 0
        self._ends: set[int] = set()  # the first and the last leaf of graphs that were measured, by identity

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """What was measured is no longer so."""
        if call.outer is None:
            self._tell([])
            if self._derived is not None and not call.accumulate:
                self._derived.asks_for(call.targets)

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Measure, when this is one of the steps."""
        if call.outer is not None or call.walked is None:
            return
        if not call.accumulate:
            self._derive(call)
            return
        self._derived = None
        if is_distributed() and self._begins(call):
            self._count = 0
        count, self._count = self._count, self._count + 1
        measures = not count & (count - 1) or self._nonfinite.alarmed
        if not measures and not (count < _TOLD and is_distributed()):
            return
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                leaves = list(self._leaves(call))
                if not measures:
                    self._tell(leaves)
                    return
                self._measure(call, leaves)
                if is_distributed():
                    self._buffers.measure(call)
                    self._nameless.measure(call)
                    self._tell(leaves)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _derive(self, call: BackwardCall) -> None:
        """Measure the parameters that a derivative was taken of, where there are several ranks."""
        if self._derived is None or not is_distributed() or not self._derived.is_asked(call):
            return
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                self._derived.measure(call)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _begins(self, call: BackwardCall) -> bool:
        """Whether a leaf is new at an end of a backward's graph, up to a few times."""
        leaves = call.walked.leaves if call.walked is not None else {}
        ends = {next(iter(leaves)), next(reversed(leaves))} if leaves else set[int]()
        if ends <= self._ends or self._beginnings >= _BEGINNINGS:
            return False
        self._ends |= ends
        self._beginnings += 1
        return True

    def _tell(self, leaves: list[Named]) -> None:
        for tell in self._told:
            tell(leaves)

    def _leaves(self, call: BackwardCall) -> Iterator[Named]:
        for identity in call.walked.leaves if call.walked is not None else ():
            leaf = self._names.tensor(identity)
            if leaf is not None and leaf.is_floating_point() and leaf.grad is not None and leaf.numel():
                yield leaf, self._sink.string(self._names.leaf(leaf))

    def _measure(self, call: BackwardCall, leaves: list[Named]) -> None:
        """Measure them, those on accelerators later: it is written when the numbers have come."""
        write = partial(self._write, call.number)
        here = [named for named in leaves if is_plain(named[0]) and is_plain(named[0].grad)]
        far = [named for named in leaves if is_far(named[0]) and is_far(named[0].grad)]
        there = [named for named in far if not is_capturing(named[0].device)]
        read(_asked(here), write)
        self._nonfinite.on_device.ask(_asked(there), write)

    def _write(self, backward: int, leaf: tuple[int, int], numbers: list[float]) -> None:
        name, count = leaf
        gradient, weight, nonzero = numbers
        zeros = max(count - nonzero, 0.0) / count
        self._sink.add("leaf_size", (backward, name, repr(gradient), repr(weight), zeros, count))


def _asked(leaves: list[Named]) -> Iterator[tuple[tuple[int, int], tuple[torch.Tensor, ...]]]:
    for leaf, name in leaves:
        if leaf.grad is not None:
            yield (name, leaf.numel()), _norms(leaf, leaf.grad)


def _norms(leaf: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The norms of the gradient and of the leaf, and how many elements of the gradient are not zero."""
    dtype = wide(leaf)
    return norm_of(gradient, dtype), norm_of(leaf, dtype), torch.count_nonzero(gradient).to(dtype)
