"""Numbers optimizers in the order in which they are met, and never keeps one alive."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from gradscope.probes.core.context import Context

_ROOM = 64  # optimizers after which the dead ones are forgotten: some programs make one in each step


class OptimizerNumbers:
    """From 1 on, by identity."""

    def __init__(self, context: Context) -> None:
        self._known: dict[int, tuple[weakref.ref[Any], int]] = {}
        self._next = itertools.count(1)  # threads have optimizers of their own
        self._room = _ROOM
        self._frozen: dict[int, int] = {}  # parameters that held a gradient and required none, at most, by number

    def of(self, optimizer: Any) -> int:
        """The number of an optimizer."""
        known = self._known.get(id(optimizer))
        if known is not None and known[0]() is optimizer:
            return known[1]
        if len(self._known) >= self._room:
            self._known = {key: one for key, one in self._known.copy().items() if one[0]() is not None}
            self._room = max(_ROOM, 2 * len(self._known))
        number = next(self._next)
        self._known[id(optimizer)] = weakref.ref(optimizer), number
        return number

    def more_are_frozen(self, optimizer: Any, present: list[bool]) -> bool:
        """Whether more of the parameters that hold a gradient require none than were asked about so far."""
        frozen = sum(not one.requires_grad for one in itertools.compress(parameters_of(optimizer), present))
        if frozen <= self._frozen.get(self.of(optimizer), 0):
            return False
        self._frozen[self.of(optimizer)] = frozen
        return True


def parameters_of(optimizer: Any) -> list[Any]:
    """The parameters that an optimizer holds, group by group."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def with_gradients(optimizer: Any) -> list[bool]:
    """Which of them hold a gradient."""
    return [parameter.grad is not None for group in optimizer.param_groups for parameter in group["params"]]
