"""Measures the leaves' gradients in the steps 0, 1, 2, 4, 8, ...: enough to see them vanish, grow or stay zero."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_distributed
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled


class GradientNorms(Watcher):
    """After a sampled backward: the norms of each leaf and of its gradient, and how much of the gradient is zero."""

    probe = "gradient norms"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._nonfinite = context.get(NonfiniteOnHost)
        self._told = context.events.gradients_measured
        self._count = 0

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """What was measured is no longer so."""
        if call.outer is None:
            self._tell([])

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Measure, when this is one of the steps."""
        if call.outer is not None or not call.accumulate or call.walked is None:
            return
        count, self._count = self._count, self._count + 1
        if count & (count - 1) and not self._nonfinite.alarmed:
            return
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                leaves = list(self._leaves(call))
                self._far(call, [leaf for leaf in leaves if not self._measure(call, leaf)])
                if is_distributed():
                    self._tell([(leaf, self._name(leaf)) for leaf in leaves])
        except Exception as error:
            self._faults.note(self.probe, error)

    def _tell(self, leaves: list[tuple[Any, int]]) -> None:
        for tell in self._told:
            tell(leaves)

    def _leaves(self, call: BackwardCall) -> Iterator[torch.Tensor]:
        for identity in call.walked.leaves if call.walked is not None else ():
            leaf = self._names.tensor(identity)
            if leaf is not None and leaf.is_floating_point() and leaf.grad is not None and leaf.numel():
                yield leaf

    def _measure(self, call: BackwardCall, leaf: torch.Tensor) -> bool:
        """Whether it could be measured at once."""
        gradient = leaf.grad
        if not is_plain(gradient) or not is_plain(leaf):
            return False
        self._write(call.number, (self._name(leaf), leaf.numel()), [float(one) for one in _norms(leaf, gradient)])
        return True

    def _far(self, call: BackwardCall, leaves: list[torch.Tensor]) -> None:
        """Have those on accelerators measured, and write it when the numbers have come."""
        there = [leaf for leaf in leaves if is_far(leaf) and is_far(leaf.grad) and not is_capturing(leaf.device)]
        asked = (((self._name(leaf), leaf.numel()), _norms(leaf, leaf.grad)) for leaf in there if leaf.grad is not None)
        self._nonfinite.on_device.ask(call, asked, partial(self._write, call.number))

    def _name(self, leaf: torch.Tensor) -> int:
        return self._sink.string(self._names.leaf(leaf))

    def _write(self, backward: int, leaf: tuple[int, int], numbers: list[float]) -> None:
        name, count = leaf
        gradient, weight, nonzero = numbers
        zeros = max(count - nonzero, 0.0) / count
        self._sink.add("leaf_size", (backward, name, repr(gradient), repr(weight), zeros, count))


def _norms(leaf: torch.Tensor, gradient: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The norms of the gradient and of the leaf, and how many elements of the gradient are not zero."""
    wide = torch.float64 if leaf.dtype is torch.float64 else torch.float32
    nonzero = torch.count_nonzero(gradient).to(wide)
    return torch.linalg.vector_norm(gradient, dtype=wide), torch.linalg.vector_norm(leaf, dtype=wide), nonzero
