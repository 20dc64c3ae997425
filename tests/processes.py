"""Processes that tests start. Whatever becomes of a test, none of its processes outlives it, nor fails another one."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

SECONDS = 240  # for one run, on a machine that is very busy; below the time limit of a test
_GRACE = 10  # seconds
_started: list[subprocess.Popen[str]] = []


def started(command: list[str], **how: object) -> subprocess.Popen[str]:
    """Start a process in a session of its own, to be ended with its test."""
    process = subprocess.Popen(command, text=True, start_new_session=True, **how)  # type: ignore[call-overload]
    _started.append(process)
    return process


def end(process: subprocess.Popen[str]) -> tuple[str, str]:
    """End a process with what it has started. Returns what it had printed, as far as anybody can read it."""
    for number in (signal.SIGTERM, signal.SIGKILL):  # when asked, torchrun ends its ranks, which have other sessions
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            return process.communicate(timeout=_GRACE)
    _close(process)  # somebody else holds the other ends
    process.wait()
    return "", ""


def end_all() -> None:
    """End what still runs of that which was started."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            end(process)
        _close(process)


def _close(process: subprocess.Popen[str]) -> None:
    for pipe in (process.stdin, process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
