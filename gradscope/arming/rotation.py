"""Records a long run into one file after the other, each of so many steps, and keeps the last ones.

Each is a recording of its own, begun anew between two steps: so nothing can grow over days, on disk or in memory.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path

from gradscope.arming.boundary import NEVER, StepBoundary
from gradscope.arming.files import free_path
from gradscope.capture import Recorder, Summary
from gradscope.errors import GradscopeError
from gradscope.signals import let_through

_MOST = 20  # sentences of trouble


class Rotation:
    """Stands where a Recorder does."""

    running: Rotation | None = None

    def __init__(self, make: Callable[..., Recorder], path: Path, every: int, kept: int, late: bool = False) -> None:
        """`make` makes a Recorder of a path and more; `path` is where a recording of all would go, each file's name is
        made of it. `every`: steps of a file; `kept`: how many files. `late`: only when there is something in the first.

        Raises UsageError when the first cannot be written.
        """
        self._make, self._path, self._every = make, path.absolute(), every
        self._boundary = StepBoundary(self._between_steps)
        self._boundary.due = NEVER
        self.written: deque[Path] = deque()  # the files that are there, this process's
        self.kept = kept
        self.trouble: list[str] = []
        self.abandoned = False
        self._command: tuple[str, ...] | None = None
        self._thread = 0  # that has begun the recording, and in which it has to end
        self._recorder: Recorder | None = self._new(0, late)
        self._last: Summary | None = None

    @property
    def command(self) -> tuple[str, ...] | None:
        """What was typed after `python`."""
        return self._command

    @command.setter
    def command(self, typed: tuple[str, ...] | None) -> None:
        self._command = typed

    def start(self) -> None:
        """Begin to record."""
        Rotation.running = self
        self._boundary.put()  # below the recorder, which has written a step when we are asked about it
        self._boundary.due = self._every
        self._begin()

    def stop(self, error: BaseException | None = None, status: int | None = None) -> Summary:
        """End the last recording; again does nothing. Answers with what is in it."""
        if Rotation.running is self:
            Rotation.running = None
            self._end(error, status)
            self._boundary.restore()  # what the recorder has put back
        return self._last or Summary(self._path, 0, 0, 0, 0.0, failure="; ".join(self.trouble[-1:]), is_empty=True)

    def abandon(self) -> None:
        """In a forked child, which the recorder has left already: be as if never begun."""
        self.abandoned, Rotation.running = True, None
        self._boundary.due = NEVER
        self._boundary.restore()

    def _new(self, step: int, late: bool = False) -> Recorder:
        return self._make(free_path(self._path, step), steps_before=step, late=late, keep_empty=False)

    def _between_steps(self, step: int) -> None:
        """Step number `step` begins."""
        if self._recorder is not None and threading.get_ident() != self._thread:
            self._note("steps end in another thread than the one in which recording began, so the file goes on")
            self._boundary.due = NEVER
            return
        self._boundary.due = step - step % self._every + self._every
        try:
            self._end(None, None)
            self._recorder = self._new(step)
            self._begin()
        except Exception as error:
            let_through(error)
            sentence = error.sentence if isinstance(error, GradscopeError) else f"{type(error).__name__}: {error}"
            self._note(f"the steps from {step:,} on: {sentence}")

    def _begin(self) -> None:
        if self._recorder is None:
            return
        self._thread = threading.get_ident()
        self._recorder.command = self._command
        self._recorder.start()

    def _end(self, error: BaseException | None, status: int | None) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        summary = recorder.stop(error, status)
        if summary.failure:
            self._note(f"{summary.path.name} stopped early: {summary.failure}")
        if not summary.is_empty or self._last is None:
            self._last = summary
            self.written.append(summary.path)
        while len(self.written) > self.kept:
            self.written.popleft().unlink(missing_ok=True)

    def _note(self, sentence: str) -> None:
        if len(self.trouble) < _MOST:
            self.trouble.append(sentence)


def _in_child() -> None:
    if Rotation.running is not None:
        Rotation.running.abandon()


os.register_at_fork(after_in_child=_in_child)  # after the recorder's own, which stands above
