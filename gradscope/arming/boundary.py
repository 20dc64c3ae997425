"""Counts a program's steps, and acts between two of them: a step ends with an outermost backward call.

The surprise: for each call of the engine torch asks its logger for a level. Standing in for the logger costs a tenth of
a microsecond a step, adds no frame to any traceback, and is all that an armed program pays.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable
from typing import Any

from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.running import NO_TASK, current_task

NEVER = sys.maxsize


class StepBoundary:
    """`act` is called in the thread that has ended a step, with the number of the next one, from step `due` on."""

    def __init__(self, act: Callable[[int], None]) -> None:
        self.due = 1
        self.step = 0  # that runs now
        self._act = act
        self._log = Replacement("torch.autograd.graph.log")
        self._register = Replacement("torch.autograd.graph._register_logging_hooks_on_whole_graph")

    def put(self) -> None:
        """Stand in for torch's logger."""
        skip_methods(_Counting)
        self._log.put(_Counting(self, self._log.original))
        self._register.put(self._stand_in())

    def restore(self) -> None:
        """Put torch's own back."""
        self._log.restore()
        self._register.restore()

    def _stand_in(self) -> Callable[[Any], Callable[[], None]]:
        log, register = self._log.original, self._register.original

        def before(outputs: Any) -> Callable[[], None]:
            undo = register(outputs) if log.getEffectiveLevel() <= logging.DEBUG else None
            following = self.step if current_task() == NO_TASK and self.step >= self.due else None

            def after() -> None:
                try:
                    if following is not None:
                        self._act(following)
                finally:
                    if undo is not None:
                        undo()

            return after

        skip(before)  # and `after` in it
        return before


class _Counting:
    """Torch's own logger for the engine, which counts how often it is asked outside of a backward."""

    def __init__(self, boundary: StepBoundary, logger: logging.Logger) -> None:
        self._boundary, self._logger = boundary, logger
        self._next = itertools.count(1).__next__  # two threads never get the same number

    def getEffectiveLevel(self) -> int:
        if current_task() == NO_TASK:
            boundary = self._boundary
            boundary.step = step = self._next()
            if step >= boundary.due:
                return logging.DEBUG
        return self._logger.getEffectiveLevel()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._logger, name)
