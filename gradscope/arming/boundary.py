"""Counts a program's steps, and acts between two of them: a step ends with an outermost backward call.

The surprise: for each call of the engine torch asks its logger for a level. Standing in for the logger costs a tenth of
a microsecond a step, adds no frame to any traceback, and is all that an armed program pays.
"""

from __future__ import annotations

import itertools
import logging
import sys
from collections.abc import Callable, Sequence
from typing import Any

from gradscope.torch_internals.dynamo import skip, skip_methods
from gradscope.torch_internals.find import Replacement
from gradscope.torch_internals.running import NO_TASK, current_task

NEVER = sys.maxsize


Look = Callable[[int, Sequence[Any], BaseException | None], None]


class StepBoundary:
    """`act` is called in the thread that has ended a step, with the number of the next one, from step `due` on.

    `look`, where there is one, before that: with the number of the step, what its backward began with, and what that
    has raised.
    """

    def __init__(self, act: Callable[[int], None], look: Look | None = None) -> None:
        self.due = 1
        self.step = 0  # that runs now
        self._act, self._look = act, look
        self._log = Replacement("torch.autograd.graph.log")
        self._register = Replacement("torch.autograd.graph._register_logging_hooks_on_whole_graph")

    def put(self) -> None:
        """Stand in for torch's logger."""
        counting = _Counting if self._look is None else _CountingAll
        skip_methods(_Counting)
        skip_methods(_CountingAll)
        self._log.put(counting(self, self._log.original))
        self._register.put(self._stand_in())

    def restore(self) -> None:
        """Put torch's own back."""
        self._log.restore()
        self._register.restore()

    def _stand_in(self) -> Callable[[Any], Callable[[], None]]:
        log, register = self._log.original, self._register.original

        def before(outputs: Any) -> Callable[[], None]:
            undo = register(outputs) if log.getEffectiveLevel() <= logging.DEBUG else None
            is_outermost, following, handled = current_task() == NO_TASK, self.step, sys.exc_info()[1]
            look = self._look if is_outermost else None

            def after() -> None:
                try:
                    if look is not None:
                        raised = sys.exc_info()[1]
                        look(following - 1, outputs, None if raised is handled else raised)
                    if is_outermost and following >= self.due:
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


class _CountingAll(_Counting):
    """Has torch call what looks at each step."""

    def getEffectiveLevel(self) -> int:
        level = super().getEffectiveLevel()
        return min(level, logging.DEBUG) if current_task() == NO_TASK else level
