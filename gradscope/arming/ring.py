"""A recording of the last steps, which keeps them in a file of their own when a trigger is met, and goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gradscope.arming.boundary import NEVER, StepBoundary
from gradscope.arming.files import free_path
from gradscope.arming.triggers import Triggers
from gradscope.capture import Recorder, Summary
from gradscope.model.trigger import Trigger
from gradscope.signals import let_through


@dataclass(frozen=True, slots=True)
class Kept:
    """The last steps up to this one, in a file of their own."""

    step: int
    why: str
    path: Path


class Ring:
    """Stands where its Recorder does."""

    running: Ring | None = None

    def __init__(self, recorder: Recorder, wanted: Sequence[Trigger], most: int) -> None:
        """`most`: how many files to keep beside the recording."""
        self._recorder = recorder
        self._triggers = Triggers(wanted, most, self._keep)
        self._boundary = StepBoundary(lambda step: None, self._triggers.after)
        self._boundary.due = NEVER
        self._path = recorder.writer.path
        self._handler: Any = None  # of SIGTERM, that stood where ours does
        self.kept: list[Kept] = []
        self._trouble: list[str] = []

    @property
    def command(self) -> tuple[str, ...] | None:
        """What was typed after `python`."""
        return self._recorder.command

    @command.setter
    def command(self, typed: tuple[str, ...] | None) -> None:
        self._recorder.command = typed

    @property
    def abandoned(self) -> bool:
        """Whether this is a forked child."""
        return self._recorder.abandoned

    @property
    def trouble(self) -> list[str]:
        """Why something could not be kept."""
        return [*self._trouble, *([self._triggers.trouble] if self._triggers.trouble else [])]

    def start(self) -> None:
        """Begin to look, and to record."""
        Ring.running = self
        self._boundary.put()  # below the recorder, which has written a step when we are asked about it
        self._recorder.start()
        if "sigterm" in {one.kind.name for one in self._triggers.wanted}:
            self._hear_sigterm()

    def stop(self, error: BaseException | None = None, status: int | None = None) -> Summary:
        """End the recording; again does nothing."""
        summary = self._recorder.stop(error, status)
        if Ring.running is self:
            self.let_go()
        return summary

    def let_go(self) -> None:
        """Look at nothing any more: the run has ended, or this is a forked child."""
        Ring.running = None
        self._boundary.restore()
        if self._handler is not None and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, self._handler)

    def _hear_sigterm(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._trouble.append("SIGTERM can be heard only where recording begins in the main thread")
            return
        self._handler = signal.signal(signal.SIGTERM, self._on_sigterm)

    def _on_sigterm(self, number: int, frame: Any) -> None:
        """Keep the last steps; then the process goes the way that it would have gone."""
        if self._triggers.left > 0 and self._keep(self._boundary.step, "SIGTERM came"):
            self._triggers.left -= 1
        if callable(self._handler):
            self._handler(number, frame)
        elif self._handler == signal.SIG_DFL:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _keep(self, step: int, why: str) -> bool:
        path = free_path(self._path, step)
        try:
            done = self._recorder.keep(path, why)
        except Exception as error:
            let_through(error)
            path.unlink(missing_ok=True)
            self._trouble.append(f"step {step:,}, {why}: {error}")
            return True  # a disk that is full once need not be asked at each step
        if done:
            self.kept.append(Kept(step, why, path))
        return done


def _in_child() -> None:
    if Ring.running is not None:
        Ring.running.let_go()


os.register_at_fork(after_in_child=_in_child)  # after the recorder's own, which stands above
