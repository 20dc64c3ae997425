"""Measures the leaves' gradients in the steps 0, 1, 2, 4, 8, ...: enough to see them vanish, grow or stay zero."""

from __future__ import annotations

import torch

from gradscope.probes.births import Births
from gradscope.probes.engine import Call, Watcher
from gradscope.probes.evidence import is_plain
from gradscope.probes.faults import Faults
from gradscope.probes.guards import no_autograd, no_dispatch, no_function
from gradscope.probes.names import Names
from gradscope.probes.sink import Sink
from gradscope.probes.threads import Thread


class Sizes(Watcher):
    """After a sampled backward: the norms of each leaf and of its gradient, and how much of the gradient is zero."""

    probe = "sizes"

    def __init__(self, sink: Sink, names: Names, faults: Faults, births: Births) -> None:
        self._sink, self._names, self._faults, self._births = sink, names, faults, births
        self._count = 0

    def after(self, call: Call, thread: Thread) -> None:
        """Measure, when this is one of the steps."""
        if call.outer is not None or not call.accumulate or call.walked is None:
            return
        count, self._count = self._count, self._count + 1
        if count & (count - 1) and not self._births.alarmed:
            return
        try:
            with no_function(), no_dispatch(), no_autograd():
                for identity in call.walked.leaves:
                    self._measure(call, self._names.tensor(identity))
        except Exception as error:
            self._faults.note(self.probe, error)

    def _measure(self, call: Call, leaf: torch.Tensor | None) -> None:
        gradient = None if leaf is None else leaf.grad
        if leaf is None or not is_plain(gradient) or not is_plain(leaf) or not leaf.is_floating_point():
            return
        count = gradient.numel()
        if count:
            zeros = (count - int(torch.count_nonzero(gradient))) / count
            name = self._sink.string(self._names.leaf(leaf))
            norms = (float(gradient.norm()), float(leaf.norm()))
            self._sink.add("leaf_size", (call.number, name, *(repr(norm) for norm in norms), zeros, count))
