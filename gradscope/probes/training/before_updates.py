"""Whether an optimizer's step has changed its parameters yet, when one of its hooks calls something.

The surprise: the hooks of all optimizers run before an optimizer's own, so that a step is heard before its pre-hooks.
"""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from gradscope.probes.core.optimizer_numbers import parameters_of


class BeforeUpdates:
    """Knows the steps that run, by thread, and what was written of each before."""

    def __init__(self) -> None:
        self._running: dict[int, tuple[weakref.ref[Any], int]] = {}  # the first parameter that is to change

    def begins(self, thread: int, optimizer: Any, present: list[bool]) -> None:
        """A step is heard, before the hooks of its optimizer."""
        first = next(itertools.compress(parameters_of(optimizer), present), None)
        if first is not None and not first.is_inference():
            self._running[thread] = weakref.ref(first), first._version

    def ends(self, thread: int) -> None:
        """All of its hooks have run."""
        self._running.pop(thread, None)

    def are_to_come(self, thread: int) -> bool:
        """Whether a step runs that has written nothing so far."""
        first, version = self._running.get(thread, (None, 0))
        parameter = None if first is None else first()
        return parameter is not None and parameter._version == version
