"""Decides, between two steps, whether one of the triggers is met.

One that was met rests for a while: a loss that is NaN once is NaN at each step from then on.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from gradscope.arming.looks import Looks, Seen, values
from gradscope.arming.usual import Usual
from gradscope.model.trigger import Trigger
from gradscope.signals import let_through

_REST = 100  # steps without it, before the same kind is met again
_LONGER = 0.1  # seconds: a step that is late by less says nothing
_LEAST_DISTANCE = 0.01  # of the median: a loss that hardly moves jumps at every breath
_OF_GRADIENTS = {"nonfinite", "gradient"}


@dataclass(slots=True)
class _Known:
    """What is usual in this run."""

    loss: Usual = field(default_factory=Usual)
    norm: Usual = field(default_factory=Usual)
    seconds: Usual = field(default_factory=Usual)

    def add(self, seen: Seen) -> None:
        for number, usual in ((seen.loss, self.loss), (seen.norm, self.norm), (seen.seconds, self.seconds)):
            if number is not None and math.isfinite(number):
                usual.add(number)


def _nonfinite(seen: Seen, known: _Known, factor: float) -> str | None:
    if seen.loss is not None and not math.isfinite(seen.loss):
        return f"the loss is {seen.loss}"
    if seen.norm is not None and not math.isfinite(seen.norm):
        return f"the gradients' norm is {seen.norm}"
    return None


def _gradient(seen: Seen, known: _Known, factor: float) -> str | None:
    usual = known.norm.median
    if not usual or seen.norm is None or not factor * usual < seen.norm < math.inf:
        return None
    return f"the gradients' norm is {seen.norm:.3g}, {seen.norm / usual:,.0f} times its median"


def _loss(seen: Seen, known: _Known, factor: float) -> str | None:
    usual = known.loss.median
    if usual is None or seen.loss is None or not math.isfinite(seen.loss):
        return None
    distance = max(known.loss.distance, _LEAST_DISTANCE * abs(usual))
    if not distance or seen.loss - usual <= factor * distance:
        return None
    return f"the loss jumps to {seen.loss:.3g} from a median of {usual:.3g}"


def _slow(seen: Seen, known: _Known, factor: float) -> str | None:
    usual = known.seconds.median
    if usual is None or seen.seconds is None or seen.seconds <= factor * usual + _LONGER:
        return None
    return f"the step took {seen.seconds:.2f} s, {seen.seconds / usual:,.0f} times the median"


def _exception(seen: Seen, known: _Known, factor: float) -> str | None:
    return None if seen.raised is None else f"a backward call raised {type(seen.raised).__name__}"


CONDITIONS: dict[str, Callable[[Seen, _Known, float], str | None]] = {
    "nonfinite": _nonfinite,
    "gradient": _gradient,
    "loss": _loss,
    "slow": _slow,
    "exception": _exception,
}  # SIGTERM is no condition of a step


class Triggers:
    """Looks at each step, and calls `met` with the step and a sentence; who is called says whether it did anything."""

    def __init__(self, wanted: Sequence[Trigger], most: int, met: Callable[[int, str], bool]) -> None:
        """`most`: how often it may have something done."""
        self.wanted, self.left, self._met = tuple(wanted), most, met
        self._looked_for = [one for one in wanted if one.kind.name in CONDITIONS]
        names = {one.kind.name for one in wanted}
        self._looks = Looks(bool(names & _OF_GRADIENTS)) if names - {"exception", "slow", "sigterm"} else None
        self._known = _Known()
        self._ended: float | None = None
        self._awake = {one.kind.name: 0 for one in wanted}  # from which step on
        self.trouble: str | None = None

    def after(self, step: int, outputs: Sequence[Any], raised: BaseException | None) -> None:
        """Step number `step` has ended, with a backward call of `outputs`."""
        if self.trouble is not None or self.left <= 0:
            return
        try:
            now, before = time.perf_counter(), self._ended
            self._ended = now
            seconds = None if before is None else now - before
            looks = self._looks is not None and raised is None and self._looks.are_due(now)
            if not looks and raised is None and (seconds is None or seconds < _LONGER):  # most steps, and in a hurry
                if seconds is not None:
                    self._known.seconds.add(seconds)
                return
            loss, norm = values(self._looks.read(outputs, now)) if looks and self._looks is not None else (None, None)
            seen = Seen(step, loss, norm, seconds, raised)
            for trigger in self._looked_for:
                self._judge(trigger, seen)
            self._known.add(seen)
        except Exception as error:
            let_through(error)
            self.trouble = f"the triggers are off since step {step:,}: {type(error).__name__}: {error}"

    def pass_over(self) -> None:
        """What happens now takes a time of its own, so the step that runs says nothing of what is usual."""
        self._ended = None

    def _judge(self, trigger: Trigger, seen: Seen) -> None:
        name = trigger.kind.name
        why = CONDITIONS[name](seen, self._known, trigger.factor)
        if why is None:
            return
        rests = seen.step < self._awake[name]
        self._awake[name] = seen.step + _REST
        if not rests and self.left > 0 and self._met(seen.step, why):
            self.left -= 1
            self.pass_over()
