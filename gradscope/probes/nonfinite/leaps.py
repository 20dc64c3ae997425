"""Sees a gradient leap: a backward formula that makes a vast number of small ones, as a division by almost zero does.

Nothing is NaN then, and the step that follows throws the weights about; what overflows at last is in no line of it.
"""

from __future__ import annotations

from typing import Any

import torch

from gradscope.probes.core.context import Context
from gradscope.probes.nonfinite.operator_risk import ALWAYS, look_of
from gradscope.probes.nonfinite.origins import LEAPT, OriginWriter, node_number
from gradscope.probes.tensors.value_samples import first, is_plain, named, several, value_sample

VAST = 1e8  # a sum of which nothing healthy is made by a division of small numbers
_LEAP = 1e6  # how many times larger than the largest number that it was given
_MOST, _TRIES = 4, 64  # leaps written down; vast gradients looked at closely


class GradientLeaps:
    """Writes the first leaps of a recording down."""

    def __init__(self, context: Context, written: OriginWriter) -> None:
        self._threads, self._stacks, self._steps, self._written = (
            context.threads,
            context.stacks,
            context.steps,
            written,
        )
        self._found = self._tried = 0

    def look(self, operator: Any, result: torch.Tensor, arguments: tuple[Any, ...], keywords: Any, frame: Any) -> None:
        """Look at a result whose sum is vast, and finite."""
        thread = self._threads.current
        call = thread.backward
        if call is None or thread.busy or not self._steps.recorded or self._tried >= _TRIES or self._found >= _MOST:
            return
        if look_of(operator.operator) != ALWAYS:
            return  # a product of large numbers is larger than each of them
        self._tried += 1
        given = list(named(operator.operator, arguments, keywords))
        written = {name for _, _, name in operator.writes}
        sizes = result.detach().abs()
        if written or sizes.max().item() < _LEAP * _largest(given):
            return
        self._found += 1
        leap = self._written.event(LEAPT, operator.name, self._stacks.take(frame, thread.base))
        leap.step, leap.thread, leap.call = self._steps.current, thread.number, thread.call
        leap.backward, leap.node = call.number, node_number(call)
        leap.evidence = value_sample(operator.operator, result, given, written, first(sizes == sizes.max()))
        self._written.write(leap)


def _largest(given: list[tuple[str, Any]]) -> float:
    """The largest number that an operator was given; infinity where not all are at hand."""
    sizes = [1e-30]
    for _, value in given:
        for one in several(value):
            if isinstance(one, torch.Tensor):
                sizes.append(one.detach().abs().max().item() if is_plain(one) and one.numel() else float("inf"))
            elif type(one) in (int, float):
                sizes.append(abs(one))
    return max(sizes)
