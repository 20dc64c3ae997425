"""Steps aside where a custom Function may ask for the buffers of its inputs' gradients: torch hands none
out where Python has held a gradient."""

from __future__ import annotations

from gradscope.probes.core.backward_call import BackwardCall
from gradscope.probes.core.context import Context
from gradscope.probes.core.probe import Watcher
from gradscope.probes.core.thread_state import Thread
from gradscope.probes.graph.buffer_requests import IS_THERE, asks_for_buffers
from gradscope.probes.operators.recorder import OperatorRecorder

_DROPPED = "backward calls that ask for gradient buffers: their operators were not watched"


class GradientBuffers(Watcher):
    """Hears nothing of such calls."""

    probe = "gradient buffers"

    def __init__(self, context: Context) -> None:
        self._sink, self._operations = context.sink, context.get(OperatorRecorder)
        self._paused: int | None = None  # the call for which

    def before(self, call: BackwardCall, thread: Thread) -> None:
        """Step aside, if any node may ask."""
        if not IS_THERE or self._paused is not None:
            return
        if any(asks_for_buffers(node) for node in call.live) and self._operations.pause():
            self._paused = call.number
            self._sink.drop(_DROPPED)

    def forget(self, call: BackwardCall) -> None:
        """Come back."""
        if self._paused == call.number:
            self._paused = None
            self._operations.resume()
