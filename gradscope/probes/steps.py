"""Counts the steps of the run. A step ends with an outermost backward call of any thread."""

from __future__ import annotations

from gradscope.model.window import Window
from gradscope.probes.sink import Sink


class Steps:
    """`recorded` says whether the step that runs now is to be recorded."""

    def __init__(self, window: Window, sink: Sink) -> None:
        self._window, self._sink = window, sink
        self.current = 0
        self.recorded = window.has(0)

    def end(self) -> None:
        """An outermost backward call has ended: the next step begins."""
        if not self.recorded:
            self._sink.drop("steps outside of --steps")
        self.current += 1
        self.recorded = self._window.has(self.current)
        keep = self._window.keep
        if keep is not None and self.current > keep:
            self._sink.forget(self.current - keep)
