"""Notes the value that each backward starts from, where it is one number: a loss.

On an accelerator without waiting for it: it is written when it has come.
"""

from __future__ import annotations

from typing import Any

import torch

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.nonfinite.host import NonfiniteOnHost
from gradscope.probes.tensors.accelerators import is_capturing, is_far
from gradscope.probes.tensors.value_samples import is_plain
from gradscope.torch_internals.guards import no_autograd, no_dispatch, no_function, unprofiled


class Losses(Watcher):
    """Before each outermost backward: its root's value."""

    probe = "losses"

    def __init__(self, context: Context) -> None:
        self._sink, self._faults = context.sink, context.faults
        self._nonfinite = context.get(NonfiniteOnHost)

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Read it, where that costs no waiting."""
        if call.outer is not None or not call.accumulate or call.walked is None or len(call.outputs) != 1:
            return
        try:
            with unprofiled(), no_function(), no_dispatch():
                self._read(call, call.outputs[0])
        except Exception as error:
            self._faults.note(self.probe, error)

    def _read(self, call: BackwardCall, root: Any) -> None:
        if not isinstance(root, torch.Tensor) or not root.is_floating_point() or root.numel() != 1:
            return
        if is_plain(root):
            self._write(call.number, [float(root.item())])
        elif is_far(root) and not is_capturing(root.device):
            with no_autograd():
                value = root.detach().reshape(())
                self._nonfinite.on_device.ask([(call.number, (value,))], self._write)

    def _write(self, backward: int, values: list[float]) -> None:
        self._sink.add("loss", (backward, repr(values[0])))
