"""Runs a program under what records it, to the end of the process."""

from __future__ import annotations

import atexit
import sys
from collections.abc import Callable
from typing import Protocol, TypeVar

from gradscope.launch import program

Told_co = TypeVar("Told_co", covariant=True)


class Recordings(Protocol[Told_co]):
    """What a program may run under: a Recorder, or something that makes some."""

    command: tuple[str, ...] | None

    @property
    def abandoned(self) -> bool:
        """Whether this is a forked child."""

    def start(self) -> None:
        """The program begins."""

    def stop(self, error: BaseException | None = None, status: int | None = None) -> Told_co:
        """The program has ended."""


def run_program(what: program.Program, recorder: Recordings[Told_co], finished: Callable[[Told_co], None]) -> int:
    """Run a program under a recorder. Returns its own exit status; `finished` is called at the process's end.

    The recording goes on until Python exits: what the program's threads and its atexit functions do belongs to it.
    """
    failed: BaseException | None = None
    status: int | None = None

    def after() -> None:
        nonlocal failed
        failed = sys.exc_info()[1]

    def stop() -> None:
        if not recorder.abandoned:
            finished(recorder.stop(None if isinstance(failed, SystemExit) else failed, status))
        if status == program.INTERRUPTED:
            program.remember_interrupt()

    recorder.command = what.typed
    atexit.register(stop)  # before the program's own functions, so that it runs after them
    status = program.run(what, recorder.start, after)
    return status
