"""Counts the steps of the run, and decides which are recorded. A step ends with an outermost backward call of any
thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from gradscope.model.window import Window
from gradscope.probes.core.overhead_budget import OverheadBudget
from gradscope.probes.core.sink import Gone, Sink

OUTSIDE = "steps outside of --steps"
OVER_BUDGET = "steps to stay within --max-overhead"
FULL = "steps that do not fit into --max-size"
STOPPED = "steps after the recording had stopped"


class Steps:
    """`recorded` says whether the step that runs now is to be recorded.

    `begins` are told so when a step begins, in the thread that ended the one before: they are probes that cost less
    while nothing is recorded. `gone` are told of content that goes with old steps: they may know its ids. `current`
    counts from the recording's beginning, because probes look closely then; `before` are the steps that the program had
    done already, and what is written counts these, too.
    """

    def __init__(
        self,
        window: Window,
        sink: Sink,
        begins: Sequence[Callable[[bool], None]],
        budget: OverheadBudget | None = None,
        before: int = 0,
        gone: Sequence[Callable[[Gone], None]] = (),
    ) -> None:
        self._window, self._sink, self._budget, self._gone = window, sink, budget, gone
        self._followers = begins
        self.current, self.before = 0, before
        self._kept: deque[int] = deque(maxlen=window.keep)
        self.is_last = False  # the window's last step has ended: what belongs to its update is recorded still
        self._why: str | None = None  # the step that runs now is left out
        self._why = self._left_out_because()
        self.recorded = self._why is None

    def begin(self) -> None:
        """The first step begins, or the next one."""
        for follow in self._followers:
            follow(self.recorded)

    def end(self) -> None:
        """An outermost backward call has ended, and with it the step."""
        if self._budget is not None:
            self._budget.end(self.current, self.recorded)
        if self._why is not None:
            if self._why != OUTSIDE or not self.before:  # who asks in the middle of a run has asked for no others
                self._sink.drop(self._why)
        elif self._window.keep is not None:
            self._kept.append(self.before + self.current)
            if len(self._kept) == self._window.keep:
                self._sink.forget(self._kept[0])
        if self._why in (None, FULL):
            self._sink.tidy(self._tell)
        self.current += 1
        was_recorded, self._why = self._why is None, self._left_out_because()
        self.is_last = was_recorded and self._why == OUTSIDE
        self.recorded = self._why is None or self.is_last
        self.begin()

    def update_ends(self) -> None:
        """A forward or a backward begins: if a window's last step has ended, its update has by now, too."""
        if self.is_last:
            self.recorded = False

    def check(self) -> None:
        """Look, in the middle of a step, whether the recording may go on. Any thread may ask."""
        if self._why is None and (why := self._at_an_end()) is not None:
            self._why = why
            self.recorded = False

    def _tell(self, gone: Gone) -> None:
        for tell in self._gone:
            tell(gone)

    def _left_out_because(self) -> str | None:
        if self._why == STOPPED:  # for good
            return STOPPED
        if not self._window.has(self.before + self.current):
            return OUTSIDE
        if (why := self._at_an_end()) is not None:
            return why
        return OVER_BUDGET if self._budget is not None and not self._budget.wants(self.current) else None

    def _at_an_end(self) -> str | None:
        if self._sink.failure is not None:
            return STOPPED
        return FULL if self._sink.full() else None
