"""Measures parameters of several ranks whose gradients come by torch.autograd.grad alone: no backward() ever fills a
`.grad` where such a program trains, and its ranks may drift apart as any others do."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.nonfinite.norms import norm_of, read, wide
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain

_DERIVED = 3


class DerivedWeights:
    """The norms of the parameters in the graph of the first derivative after a step, of the steps 0, 1, 2, 4, 8, ...

    Only of the first: until the next step a program may move its parameters, each rank by itself, and put them back.
    """

    def __init__(self, context: Context) -> None:
        self._sink, self._names = context.sink, context.names
        self._nonfinite = context.get(NonfiniteOnHost)
        self._count, self._stepped = 0, True
        context.events.optimizer_stepped.append(self._steps)

    def is_asked(self) -> bool:
        """Whether this derivative is to be measured; it is counted by that."""
        if not self._stepped:
            return False
        self._stepped = False
        count, self._count = self._count, self._count + 1
        return not count & (count - 1)

    def measure(self, call: BackwardCall) -> None:
        """Measure them; the caller's guards keep that out of what is recorded."""
        found = {}
        for identity in call.walked.leaves if call.walked is not None else ():
            leaf = self._names.tensor(identity)
            if isinstance(leaf, torch.nn.Parameter) and leaf.is_floating_point() and leaf.numel():
                found[self._sink.string(self._names.leaf(leaf))] = leaf
        write = partial(self._write, call.number)
        read(((name, (norm_of(one, wide(one)),)) for name, one in found.items() if is_plain(one)), write)
        there = {name: one for name, one in found.items() if is_far(one) and not is_capturing(one.device)}
        norms = ((name, (norm_of(one, wide(one)),)) for name, one in there.items())
        self._nonfinite.on_device.ask(norms, write)

    def _steps(self, optimizer: Any) -> None:
        self._stepped = True

    def _write(self, backward: int, name: int, numbers: list[float]) -> None:
        self._sink.add("buffer_size", (backward, name, repr(numbers[0]), _DERIVED))
