"""Calls a function twice a second, so that a killed run has lost less than a second.

The surprise: the thread is started below `threading`, so that a program which joins all of its threads never sees it,
and it is gone while the process forks: a fork of several threads warns, and copies locks that nobody will release.
"""

from __future__ import annotations

import _thread
import os
from collections.abc import Callable

from gradscope.signals import let_through
from gradscope.torch_internals.apart import wait_for_the_end_of

PERIOD = 0.5  # seconds
_MOST_FAULTS = 20  # after these it gives up
_PATIENCE = 2.0  # seconds to wait for a beat that is going on


class PeriodicFlush:
    """Beats while it is entered, and while the process does not fork."""

    running: PeriodicFlush | None = None

    def __init__(self, beat: Callable[[], None], fault: Callable[[str, str], None], period: float = PERIOD) -> None:
        """`fault` takes what goes wrong; `period` is in seconds."""
        self._beat, self._fault, self._period = beat, fault, period
        self._stop, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._native = 0

    def __enter__(self) -> PeriodicFlush:
        PeriodicFlush.running = self
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        if PeriodicFlush.running is self:
            PeriodicFlush.running = None
            self.stop()

    def start(self) -> None:
        """Start the thread."""
        self._stop, self._ended = _thread.allocate_lock(), _thread.allocate_lock()
        self._stop.acquire()
        self._ended.acquire()
        try:
            _thread.start_new_thread(self._run, (self._stop, self._ended))
        except RuntimeError as error:  # the process may have no more threads: it commits at backward calls then
            let_through(error)
            self._ended.release()
            self._fault("heartbeat", f"RuntimeError: {error}")

    def stop(self) -> None:
        """End the thread and wait until it has gone."""
        try:
            self._stop.release()
        except RuntimeError as error:  # stopped already
            let_through(error)
        if self._ended.acquire(timeout=_PATIENCE):
            self._ended.release()
            wait_for_the_end_of(self._native)

    def _run(self, stop: _thread.LockType, ended: _thread.LockType) -> None:
        self._native = _thread.get_native_id()
        faults = 0
        try:
            while not stop.acquire(timeout=self._period) and faults < _MOST_FAULTS:
                try:
                    self._beat()
                except Exception as error:  # ours: signal handlers run in the main thread only
                    faults += 1
                    self._fault("heartbeat", f"{type(error).__name__}: {error}")
        finally:
            ended.release()


def _before_fork() -> None:
    if PeriodicFlush.running is not None:
        PeriodicFlush.running.stop()


def _in_parent() -> None:
    if PeriodicFlush.running is not None:
        PeriodicFlush.running.start()


def _in_child() -> None:
    PeriodicFlush.running = None


os.register_at_fork(before=_before_fork, after_in_parent=_in_parent, after_in_child=_in_child)
