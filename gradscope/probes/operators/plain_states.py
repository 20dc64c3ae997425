"""Measures plain tensors that live on after a backward, where there are several ranks: a program may keep its running
statistics in them, and neither a module's buffers nor the leaves of a graph show these."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.collectives import is_distributed
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.operators.dataflow import Dataflow
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled

_PLAIN = 5
_MOST = 256  # tensors of a look
_LARGEST = 1 << 16  # numbers: what holds more is data

Key = tuple[int, int]  # the backward, and the number of the name


class PlainStates(Watcher):
    """The norms of tensors that are no leaf's and no buffer, named by their numbers, as long as these are followed: in
    the steps 0, 1, 2, 4, 8, ..."""

    probe = "plain states"

    def __init__(self, context: Context) -> None:
        self._sink, self._names, self._faults = context.sink, context.names, context.faults
        self._dataflow, self._nonfinite = context.get(Dataflow), context.get(NonfiniteOnHost)
        self._count = 0

    def after(self, call: BackwardCall, thread: Thread) -> None:
        """Measure, when this is one of the steps."""
        if call.outer is not None or not call.accumulate or not is_distributed():
            return
        count, self._count = self._count, self._count + 1
        if count & (count - 1) or not self._dataflow.on:
            return
        try:
            with unprofiled(), no_function(), no_dispatch(), no_autograd():
                self._measure(call)
        except Exception as error:
            self._faults.note(self.probe, error)

    def _measure(self, call: BackwardCall) -> None:
        found = list(self._found(call))
        read(((key, (norm_of(one, wide(one)),)) for key, one in found if is_plain(one)), self._write)
        far = [(key, one) for key, one in found if is_far(one) and not is_capturing(one.device)]
        self._nonfinite.on_device.ask(((key, (norm_of(one, wide(one)),)) for key, one in far), self._write)

    def _found(self, call: BackwardCall) -> Iterator[tuple[Key, torch.Tensor]]:
        kept = {id(one) for model in self._names.models() for one in model.buffers()}
        for identity in call.walked.leaves if call.walked is not None else ():
            leaf = self._names.tensor(identity)
            kept.add(id(None if leaf is None else leaf.grad))
        count = 0
        for number, one in self._dataflow.living():
            if count < _MOST and id(one) not in kept and _may_be_kept(one):
                count += 1
                yield (call.number, self._sink.string(str(number))), one

    def _write(self, key: Key, numbers: list[float]) -> None:
        self._sink.add("buffer_size", (*key, repr(numbers[0]), _PLAIN))


def _may_be_kept(tensor: torch.Tensor) -> bool:
    plain = type(tensor) is torch.Tensor and tensor.is_floating_point() and not tensor.requires_grad
    return plain and 0 < tensor.numel() <= _LARGEST
